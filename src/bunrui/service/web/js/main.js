// The page: its views, the way from one to the other, the token, the language, the keys.

import { get, keptText, pause, token, unless } from "./api.js";
import { button, checkbox, data, h, inRow, replace, show, tick } from "./dom.js";
import { refuseDrops } from "./files.js";
import { LANGUAGES, bind, language, preferred, t, use } from "./i18n.js";
import { canWrite, events, refresh, state } from "./state.js";
import { guarded, hush, problem, watched } from "./tell.js";
import * as audit from "./views/audit.js";
import * as compare from "./views/compare.js";
import * as evaluate from "./views/evaluate.js";
import * as file from "./views/file.js";
import * as past from "./views/history.js";
import * as predict from "./views/predict.js";
import * as teach from "./views/teach.js";
import * as train from "./views/train.js";
import * as words from "./views/words.js";

const VIEWS = { predict, file, teach, train, history: past, words, evaluate, compare, audit };
// The first letter of each view; that of teaching is the one of training, so it is l as in label.
const LETTERS = Object.fromEntries(Object.keys(VIEWS).map((name) => [name === "teach" ? "l" : name[0], name]));
const THEMES = ["", "light", "dark"]; // the first one is that of the system
const keysOff = keptText("keys.off", localStorage);

const place = (id) => document.getElementById(id);
const made = {};
let here = null; // the address of the view that is shown
let current = null; // the view

// --- views

/** The address of a view; that of the link that skips is none. */
const address = () => (location.hash === "#main" ? (here ?? "") : location.hash);

/** The view that the address names, and its parameters behind a question mark. */
function route() {
  const [name, query = ""] = address().replace(/^#\/?/, "").split("?", 2);
  const isKnown = Object.hasOwn(VIEWS, name);
  return { name: isKnown ? name : "predict", parameters: new URLSearchParams(isKnown ? query : "") };
}

/** Go to a view at once: `hashchange` comes later, and would take the focus from a key that is pressed until then. */
function visit(hash) {
  location.hash = hash;
  arrive();
}

function arrive() {
  if (address() !== here) go();
}

function go({ focus = true } = {}) {
  const { name, parameters } = route();
  current = made[name];
  hush();
  for (const [other, view] of Object.entries(made)) show(view.element, other === name);
  for (const link of place("nav").children) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${t(`${name}.title`)} – bunrui`;
  current.shown?.(parameters);
  here = address();
  if (focus) current.element.querySelector("h2").focus();
}

/** Follow a link to a view. */
function onClick(event) {
  const link = event.target.closest("a[href^='#/']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  visit(link.hash);
}

// --- the token

/** A token behind # is kept for this tab, and taken out of the address; whether there was one. */
function takeToken() {
  if (!location.hash.startsWith("#token=")) return false;
  token.set(decodeURIComponent(location.hash.slice("#token=".length)));
  history.replaceState(null, "", location.pathname);
  return true;
}

/** Whether the service takes the token. */
const isRight = () => unless(get("/v1/token").then(() => true), ["no-token"], () => false);

async function checkToken() {
  if (!token.get() || !state.info.service.writable || (await isRight())) return;
  forgetToken();
  askToken("token.wrong");
}

function askToken(why) {
  const input = h("input", { type: "password", id: "secret", autocomplete: "off", required: true });
  const wrong = h("p.warning", { role: "alert" });
  const form = h("form",
    h("h2", { t: "token.title" }),
    h("p", { t: "token.about" }),
    h("p.field.wide", h("label", { for: "secret", t: "token.label" }), input),
    wrong,
    inRow(h("button.primary", { type: "submit", t: "token.use" }), closer(() => dialog)),
  );
  const dialog = opened(form);
  form.addEventListener(
    "submit",
    guarded(async (event) => {
      event.preventDefault();
      token.set(input.value.trim());
      if (await isRight()) {
        dialog.close();
        return refresh();
      }
      token.set("");
      bind(wrong, "token.wrong");
      input.select();
    }),
  );
  if (why) bind(wrong, why);
  input.focus();
}

function forgetToken() {
  token.set("");
  events.dispatchEvent(new Event("info"));
}

// --- dialogs

function opened(content) {
  const dialog = h("dialog", content);
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
  return dialog;
}

const closer = (dialog) => button("page.close", () => dialog().close());

function listKeys() {
  const off = checkbox("keys-off", (isOff) => keysOff.set(isOff ? "1" : ""), Boolean(keysOff.get()));
  const line = (keys, key) => [h("dt", keys.map((name) => h("kbd", name))), h("dd", { t: key })];
  const dialog = opened(
    h("div",
      h("h2", { t: "keys.title" }),
      h("dl.keys",
        Object.entries(LETTERS).map(([letter, name]) => line([letter], `${name}.title`)),
        line(["/"], "keys.input"),
        line(["Ctrl", "Enter"], "keys.predict"),
        line(["←", "→"], "keys.move"),
        line(["1", "0"], "keys.label"),
        line(["y"], "keys.guess"),
        line(["n"], "keys.new"),
        line([","], "keys.several"),
        line(["s"], "keys.skip"),
        line(["k"], "keys.keep"),
        line(["r"], "keys.relabel"),
        line(["s"], "keys.save"),
        line(["u"], "keys.undo"),
        line(["?"], "keys.list"),
      ),
      tick("keys.off", off),
      closer(() => dialog),
    ),
  );
}

function onKey(event) {
  const { target, key } = event;
  const isTyping = target.closest("input:not([type=checkbox]), textarea, select, dialog") !== null;
  if (isTyping || event.repeat || event.ctrlKey || event.metaKey || event.altKey) return;
  if (key === "Enter" && target.closest("button, a, summary")) return; // it is pressed, and nothing else
  if (key === "?") return listKeys();
  if (keysOff.get()) return;
  if (key === "/") {
    event.preventDefault();
    current.focus?.();
  } else if (Object.hasOwn(LETTERS, key)) visit(`#/${LETTERS[key]}`);
  else if (current.key?.(key)) event.preventDefault(); // the letter is no text of the field that has the focus now
}

// --- the header

function tellAbout() {
  const { info } = state;
  replace(place("about"),
    data(info.service.file, { class: "file" }),
    h("span", { t: ["page.documents", { n: info.documents }] }),
    h("span", { title: info.choice?.line }, data(info.choice ? `auto: ${info.choice.candidate.model}` : info.model)),
  );
  const notice = place("notice");
  show(notice, !canWrite() || !info.documents);
  const why = !info.documents ? "page.empty" : info.service.writable ? "page.readonly" : "page.onlyreads";
  const ways = !info.documents && canWrite() ? ["teach", "train"] : [];
  replace(notice,
    h("span", { t: why }),
    ways.map((name) => [" ", h("a.button", { href: `#/${name}`, t: `${name}.title` })]),
  );
  document.documentElement.toggleAttribute("data-writable", canWrite());
  show(place("token"), info.service.writable);
  bind(place("token"), canWrite() ? "token.forget" : "token.enter");
}

function turnTheme() {
  const { style } = document.documentElement;
  style.colorScheme = THEMES[(THEMES.indexOf(style.colorScheme) + 1) % THEMES.length];
  localStorage.setItem("bunrui.theme", style.colorScheme);
  nameTheme();
}

function nameTheme() {
  const theme = document.documentElement.style.colorScheme || "auto";
  replace(place("theme"), { auto: "◐", light: "☀", dark: "☾" }[theme]);
  bind(place("theme"), `theme.${theme}`, {}, "aria-label");
  bind(place("theme"), `theme.${theme}`, {}, "title");
}

// --- from start to end

/** Wait until the service is ready: the first start on a machine takes a minute. */
async function ready() {
  while (!(await unless(get("/v1/labels"), ["not-ready"], () => null))) {
    show(replace(place("notice"), h("span", { t: "page.starting" })), true);
    await pause(500);
  }
}

async function begin() {
  takeToken();
  await use(preferred());
  const menu = place("language");
  menu.append(...Object.entries(LANGUAGES).map(([tag, name]) => h("option", { value: tag, lang: tag }, name)));
  menu.value = language();
  menu.addEventListener(
    "change",
    guarded(async () => {
      await use(menu.value, { keep: true });
      go({ focus: false });
    }),
  );
  place("theme").addEventListener("click", turnTheme);
  place("help").addEventListener("click", listKeys);
  place("token").addEventListener("click", () => (canWrite() ? forgetToken() : askToken(null)));
  nameTheme();
  for (const [name, { create }] of Object.entries(VIEWS)) {
    place("nav").append(h("a", { href: `#/${name}`, "data-view": name, t: `${name}.title` }));
    made[name] = create();
    place("main").append(made[name].element);
  }
  events.addEventListener("info", tellAbout);
  events.addEventListener("visit", ({ detail }) => visit(detail));
  window.addEventListener("hashchange", watched(() => (takeToken() ? meet() : arrive())));
  document.addEventListener("click", onClick);
  document.addEventListener("keydown", onKey);
  refuseDrops();
  go({ focus: false });
  await ready();
  await meet();
  document.documentElement.dataset.ready = "";
}

/** Ask for the state of the classifier, and check the token. */
async function meet() {
  await refresh();
  await checkToken();
  go({ focus: false });
}

begin().catch(problem);
