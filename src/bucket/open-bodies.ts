/** Limits how many bodies of objects are open at once, so that clients cannot use up the open files of the process. */
import { openFileLimit } from '../base/open-files.js';
import { objectFailure } from './errors.js';

const MOST_BODIES = 1024;
const DEFAULT_FILE_LIMIT = 1024;

export interface OpenBodies {
  /**
   * Takes a place and returns a function that gives it back, which may be called twice. Throws an object failure when
   * there is none.
   */
  take(client: string): () => void;
  count(): number;
}

/**
 * `most`: for all clients together; a single one may have half of them. The default leaves open files for everything
 * else.
 */
export function createOpenBodies(
  most = Math.min(MOST_BODIES, Math.ceil((openFileLimit() ?? DEFAULT_FILE_LIMIT) / 4)),
): OpenBodies {
  const ofClients = new Map<string, number>();
  let open = 0;
  return {
    take(client) {
      const ofClient = ofClients.get(client) ?? 0;
      if (open >= most || ofClient >= most / 2) throw objectFailure('tooManyOpen');
      open++;
      ofClients.set(client, ofClient + 1);
      let taken = true;
      return () => {
        if (!taken) return;
        taken = false;
        open--;
        const left = ofClients.get(client)! - 1;
        if (left > 0) ofClients.set(client, left);
        else ofClients.delete(client);
      };
    },
    count: () => open,
  };
}
