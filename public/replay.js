// The bar of a recording: kept up to date, and pressed without leaving the page. Without this file it is a plain form.
"use strict";
(() => {
  const form = document.getElementById("recording-form");
  if (!form) return;
  const sentence = document.getElementById("recording-sentence");
  const output = document.getElementById("recording-moment");
  const slider = form.elements.namedItem("moment");
  const button = (word) => form.querySelector(`button[value="${word}"]`);
  let sliding = false;
  let shown = slider.value;
  // Whether the page follows by itself; where its own script does not run, it is loaded again.
  const follows = () => !["static", undefined].includes(document.querySelector(".live")?.dataset.state);

  const show = (now) => {
    if (String(now.moment) !== shown && !follows()) {
      location.reload();
      return;
    }
    shown = String(now.moment);
    if (sentence.textContent !== now.sentence) sentence.textContent = now.sentence;
    if (!sliding) {
      slider.value = now.moment;
      output.textContent = `${now.moment} of ${now.of}`;
    }
    button("previous").disabled = now.moment === 1;
    button("next").disabled = now.moment === now.of;
    const focused = document.activeElement;
    button("play").hidden = now.playing;
    button("pause").hidden = !now.playing;
    // The button that was pressed gives way to the other one: the focus goes with it.
    if (focused === button("play") && now.playing) button("pause").focus({ preventScroll: true });
    if (focused === button("pause") && !now.playing) button("play").focus({ preventScroll: true });
  };
  const look = async () => {
    const answer = await fetch("/replay", { headers: { accept: "application/json" } });
    if (answer.ok) show(await answer.json());
  };
  const press = async (word) => {
    const body = new URLSearchParams({ do: word, moment: slider.value });
    await fetch("/replay", { method: "POST", body, redirect: "manual" });
    sliding = false;
    await look();
  };

  form.addEventListener("submit", (event) => {
    if (!event.submitter) return;
    event.preventDefault();
    press(event.submitter.value).catch(() => form.submit());
  });
  slider.addEventListener("input", () => {
    sliding = true;
    output.textContent = `${slider.value} of ${slider.max}`;
  });
  slider.addEventListener("change", () => press("go").catch(() => {}));
  setInterval(() => {
    if (document.visibilityState === "visible") look().catch(() => {});
  }, 1000);
})();
