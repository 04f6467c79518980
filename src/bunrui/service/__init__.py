"""The service: one classifier file over HTTP, for programs and for the page in `web/`.

    server.py      opens the port, runs uvicorn until it is told to stop
    app.py         the application: routes, description, life
    gate.py        what every request passes: security, limits, problems, metrics, logs
    security.py    who may ask: names of the host, origins, the token, types of bodies
    limits.py      how much at once: bodies, requests, waiting work
    problems.py    errors as RFC 9457 has them
    served.py      the classifier: many read, one thread writes
    bodies.py      bodies of requests → texts and labels; arrow.py reads and writes Arrow streams
    answers.py     scores → predictions, as JSON and as Arrow
    reading.py  writing.py  evaluating.py  operating.py      the routes
    training.py    routes of files that are sent: looked into, learned; uploads.py reads them
    studying.py    routes of what the kept documents say about each other; studies.py finds it
    jobs.py        work in the background, with progress; working.py has its routes
    schemas.py  openapi.py      what goes in and out, and its description
    metrics.py  logs.py         what operators see
    web/           the page: index.html, style.css, js/ without a build step, lang/ with all its words; drawings and
                   their style come from `bunrui.views`

One process, one event loop.  A short prediction runs on the loop itself; long ones run on worker threads, and all that
touches the file on one thread of its own: docs/decisions/006.
"""

from __future__ import annotations
