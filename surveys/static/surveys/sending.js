// Sends a form until the server has answered, also over a network that comes and goes.

import { forget, pause, sayAloud, showState, words } from "./page.js";

const PATIENCE = 60_000;
const LONGEST_WAIT = 15_000;

// `prepare` fills hidden fields and may stop the sending by returning false; `refused` gets what the server asks.
export function sendByScript(form, draft, { prepare = () => true, refused = () => false } = {}) {
  let sending = false;
  addEventListener("beforeunload", (event) => { if (sending) event.preventDefault(); });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (sending || !prepare()) return;
    sending = true;
    draft.stop();
    const body = new URLSearchParams(new FormData(form));
    if (event.submitter?.name) body.set(event.submitter.name, event.submitter.value);
    const answer = await post(location.href, body);
    sending = false;
    if (answer.next) {
      forget(draft.place);
      location.assign(answer.next);
    } else if (refused(answer)) {
      draft.stopped = false;
      showState("");
    } else form.submit(); // the server's own page says what is asked; what is sent twice is stored once
  });
}

async function post(address, body) {
  showState(words.sending);
  sayAloud(words.sending);
  for (let wait = 1000; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    try {
      const request = { method: "POST", body, headers: { Accept: "application/json" } };
      const answer = await fetch(address, { ...request, signal: AbortSignal.timeout(PATIENCE) });
      if (answer.status < 500 && answer.status !== 429) return await answer.json().catch(() => ({}));
    } catch { /* no connection: the same request again, the form's key keeps it single */ }
    showState(words.tryingAgain, true);
    if (wait === 1000) sayAloud(words.tryingAgain);
    await Promise.race([pause(wait), new Promise((wake) => addEventListener("online", wake, { once: true }))]);
  }
}
