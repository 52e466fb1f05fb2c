/** Whether load balancers know where those who ask are: for `doctor` and the warnings of the admin process. */
import { messageOf } from '../../base/errors.js';
import type { Settings } from '../../config/schema.js';
import { buildTimeOf } from '../../location/database.js';
import { needsPlaces } from '../../store/balancing/load-balancers.js';
import type { Store } from '../../store/driver.js';
import type { Finding } from '../../warnings/finding.js';
import { namesOfPlaces, readPlaces, stateOfFiles } from './places.js';

/** Databases are published every week or month. */
const OLD_MS = 90 * 86_400_000;
const WHAT = 'places';

interface Seen {
  readonly state: string;
  /** Why the files cannot be used. */
  readonly fault: string | undefined;
  /** Milliseconds since 1970; undefined without a database. */
  readonly builtMs: number | undefined;
}

/** Reads the files again when they were replaced. */
export function createPlaceExaminer(
  settings: Pick<Settings, 'geoDatabase' | 'geoNetworks'>,
): (store: Store, nowMs: number) => Finding[] {
  const names = namesOfPlaces(settings);
  let seen: Seen | undefined;
  return (store, nowMs) => {
    if (names.length === 0) return needsPlaces(store) ? [MISSING] : [];
    const state = stateOfFiles(names);
    if (seen?.state !== state) seen = { state, ...examine(settings) };
    return [findingOf(seen, names, nowMs)];
  };
}

function examine(settings: Pick<Settings, 'geoDatabase' | 'geoNetworks'>): Omit<Seen, 'state'> {
  try {
    const database = readPlaces(settings)?.database;
    return { fault: undefined, builtMs: database && buildTimeOf(Buffer.from(database)) };
  } catch (error) {
    return { fault: messageOf(error), builtMs: undefined };
  }
}

const MISSING: Finding = {
  ...{ what: WHAT, verdict: 'warn', kind: 'places-missing' },
  text: 'load balancers choose by country or distance, and nothing says where addresses are',
  remedy: 'Set --geo-database to a file in MaxMind’s format, or --geo-networks.',
};

function findingOf({ fault, builtMs }: Seen, names: readonly string[], nowMs: number): Finding {
  if (fault !== undefined) {
    return {
      ...{ what: WHAT, verdict: 'fail', kind: 'places-damaged', text: fault },
      remedy: 'Replace the file: a running server uses what it read before, the next start fails.',
    };
  }
  if (builtMs !== undefined && nowMs - builtMs > OLD_MS) {
    return {
      ...{ what: WHAT, verdict: 'warn', kind: 'places-old' },
      text: `the database of places is of ${new Date(builtMs).toISOString().slice(0, 10)}`,
      remedy: 'Put a newer one in its place; it is read at once.',
    };
  }
  return { what: WHAT, verdict: 'ok', text: `${names.join(' and ')} can be used` };
}
