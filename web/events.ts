/** Follows events on the server, so that screens reload when something changed instead of polling. */
import { BASE } from './api.js';

const listeners = new Set<() => void>();
let source: EventSource | undefined;
/** Events within this time cause only one reload. */
const GATHER_MS = 300;
let isTold = false;

function tell(): void {
  if (isTold) return;
  isTold = true;
  setTimeout(() => {
    isTold = false;
    for (const run of listeners) run();
  }, GATHER_MS);
}

/** One stream for the whole page, open while the page is visible. */
function follow(): void {
  const isWanted = listeners.size > 0 && document.visibilityState === 'visible';
  if (!isWanted) {
    source?.close();
    source = undefined;
  } else if (!source) {
    source = new EventSource(`${BASE}/events`);
    source.onmessage = tell;
    // The rights of the session may have changed, so everything shown is read again.
    source.addEventListener('end', tell);
  }
}

document.addEventListener('visibilitychange', () => {
  follow();
  if (document.visibilityState === 'visible') tell();
});

/** Calls `run` when something has happened; returns a function that ends that. */
export function whenEvents(run: () => void): () => void {
  listeners.add(run);
  follow();
  return () => {
    listeners.delete(run);
    follow();
  };
}
