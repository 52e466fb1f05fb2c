/** What happens on the server, as it happens: screens that show it read again, and need not ask again and again. */
import { BASE } from './api.js';

const listeners = new Set<() => void>();
let source: EventSource | undefined;
/** Several events at once are one reason to read. */
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

/** One stream for all of a page, while it is seen. */
function follow(): void {
  const isWanted = listeners.size > 0 && document.visibilityState === 'visible';
  if (!isWanted) {
    source?.close();
    source = undefined;
  } else if (!source) {
    source = new EventSource(`${BASE}/events`);
    source.onmessage = tell;
    // The credential may do something else now; what is shown is read again with it.
    source.addEventListener('end', tell);
  }
}

document.addEventListener('visibilitychange', () => {
  follow();
  if (document.visibilityState === 'visible') tell();
});

/** Calls `run` when something has happened; returns what ends that. */
export function whenEvents(run: () => void): () => void {
  listeners.add(run);
  follow();
  return () => {
    listeners.delete(run);
    follow();
  };
}
