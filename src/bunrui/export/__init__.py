"""A classifier, to hand on: `make_page` makes one HTML page that classifies and explains in a browser."""

from bunrui.export.page import Page, Pruning, make_page

__all__ = ["Page", "Pruning", "make_page"]
