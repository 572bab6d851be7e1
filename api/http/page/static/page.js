// Follows a job live, keeps the list fresh, and shows times by the reader's clock.
// Everything on the pages works without it; what it shows is what the server would show anew.
"use strict";

(() => {
  const SOON = 300; // ms: events that come together lead to one look
  const POLL = 10_000;
  const RETRY = 5_000;

  function localTimes(root) {
    const long = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
    const short = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
    for (const each of root.querySelectorAll("time[datetime]")) {
      each.title = each.textContent;
      const format = "short" in each.dataset ? short : long;
      each.textContent = format.format(new Date(each.dateTime));
    }
  }

  function prepare(root) {
    localTimes(root);
    showButtons(root);
  }

  // Replace what has changed, and keep what the reader has opened or stands on; whoever stands on
  // something that is gone stands on the content.
  function swap(fresh) {
    const old = document.getElementById(fresh.id);
    prepare(fresh);
    if (!old) return;
    for (const each of [old, ...old.querySelectorAll("details[id]")]) {
      const same = each === old ? fresh : fresh.querySelector(`#${each.id}`);
      if (same && "open" in each) same.open = each.open;
    }
    if (old.isEqualNode(fresh)) return;
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    old.replaceWith(fresh);
    if (!focused) return;
    const place = (focused.id && document.getElementById(focused.id)) || document.getElementById("main");
    place.focus({ preventScroll: true });
  }

  // Said politely by screen readers, and only when it differs: not each trial, but each phase.
  function say(text) {
    document.getElementById("news").textContent = text;
  }

  function newsOf(root) {
    return root.querySelector("[data-news]")?.dataset.news ?? "";
  }

  async function look() {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (answer.redirected) location.reload(); // The session is over.
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const news = newsOf(fresh);
    if (news !== newsOf(document)) say(news);
    document.title = fresh.title;
    for (const each of fresh.querySelectorAll("[data-live]")) swap(document.adoptNode(each));
    if (!document.querySelector("[data-ask]")) document.querySelector("#sure[open]")?.close();
    return fresh;
  }

  function tell(text) {
    const place = document.getElementById("connection");
    if (place && place.textContent !== text) place.textContent = text;
  }

  // One look at a time, soon after it is asked for; asked meanwhile, there is one more after it.
  function gathered(action) {
    let due = null;
    let busy = false;
    return function ask() {
      if (due !== null) return;
      due = setTimeout(async () => {
        due = null;
        if (busy) return ask();
        busy = true;
        try {
          await action();
        } catch {
          tell("The service does not answer; trying again.");
          setTimeout(ask, RETRY);
        } finally {
          busy = false;
        }
      }, SOON);
    };
  }

  function follow(article) {
    let seen = Number(article.dataset.events);
    let source = null;
    const refresh = gathered(async () => {
      await look();
      tell("");
    });

    function take(event) {
      const number = Number(event.lastEventId);
      if (event.type === "ended") stop();
      if (number <= seen) return;
      seen = number;
      refresh();
    }

    function start() {
      source = new EventSource(article.dataset.stream);
      for (const kind of article.dataset.kinds.split("|")) source.addEventListener(kind, take);
      source.addEventListener("open", () => tell(""));
      source.addEventListener("error", () => {
        tell("The connection is lost; trying again.");
        if (source?.readyState === EventSource.CLOSED) {
          // The browser gives up after an answer that is no stream: look, and try again.
          source = null;
          refresh();
          setTimeout(() => source || document.hidden || start(), RETRY);
        }
      });
    }

    function stop() {
      source?.close();
      source = null;
    }

    // A browser has few connections to a host; a page that nobody sees needs none.
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) stop();
      else if (!source && !document.querySelector(".badge.done, .badge.failed, .badge.cancelled")) {
        start();
        refresh();
      }
    });
    start();
  }

  function poll() {
    const refresh = gathered(look);
    setInterval(() => {
      if (!document.hidden && document.querySelector("[data-poll]")) refresh();
    }, POLL);
  }

  function clockText(seconds) {
    const two = (number) => String(number).padStart(2, "0");
    const [hours, minutes, rest] = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map(Math.floor);
    return hours ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
  }

  // Between two looks the clock goes on by itself.
  function tick() {
    const clock = document.querySelector("[data-ticking]");
    if (!clock) return;
    const bar = clock.parentElement.querySelector("progress");
    const now = performance.now() / 1000;
    clock.since ??= now - bar.value;
    const seconds = now - clock.since;
    bar.value = Math.min(seconds, bar.max);
    clock.textContent = clockText(seconds);
  }

  // The form that is sent at last may be another one, as the page is followed meanwhile.
  document.addEventListener("submit", (event) => {
    const question = document.getElementById(event.target.dataset.ask ?? "");
    if (!question) return;
    event.preventDefault();
    question.returnValue = "";
    question.onclose = () => {
      const form = document.getElementById(event.target.id);
      if (question.returnValue) form?.submit();
      else form?.querySelector("button").focus();
    };
    question.showModal();
  });

  prepare(document);
  const article = document.querySelector("[data-stream]");
  if (article) {
    follow(article);
    setInterval(tick, 250);
  }
  if (article || document.querySelector("[data-poll]")) poll();
})();
