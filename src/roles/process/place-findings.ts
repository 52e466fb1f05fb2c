/** Whether load balancers can locate clients: for `doctor` and the warnings of the admin process. */
import { messageOf } from '../../base/errors.js';
import type { Settings } from '../../config/schema.js';
import { buildTimeOf } from '../../location/database.js';
import { needsPlaces } from '../../store/balancing/load-balancers.js';
import type { Store } from '../../store/driver.js';
import type { Finding } from '../../warnings/finding.js';
import { namesOfPlaces, readPlaces, stateOfFiles } from './places.js';

/** New databases are published every week or month. */
const OLD_MS = 90 * 86_400_000;
const WHAT = 'places';

interface Seen {
  readonly state: string;
  /** Why the files cannot be used; undefined: they can. */
  readonly fault: string | undefined;
  /** Milliseconds since 1970; undefined without a database. */
  readonly builtMs: number | undefined;
}

/** The examiner reads the files again when they were replaced. */
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
  text: 'load balancers choose by country or distance, but there is no data about the location of addresses',
  remedy: 'Set --geo-database to a file in MaxMind’s format, or --geo-networks.',
};

function findingOf({ fault, builtMs }: Seen, names: readonly string[], nowMs: number): Finding {
  if (fault !== undefined) {
    return {
      ...{ what: WHAT, verdict: 'fail', kind: 'places-damaged', text: fault },
      remedy: 'Replace the file: a running server keeps using what it read before, but its next start fails.',
    };
  }
  if (builtMs !== undefined && nowMs - builtMs > OLD_MS) {
    return {
      ...{ what: WHAT, verdict: 'warn', kind: 'places-old' },
      text: `the database of places was built on ${new Date(builtMs).toISOString().slice(0, 10)}`,
      remedy: 'Replace it with a newer one; a running server reads that at once.',
    };
  }
  return { what: WHAT, verdict: 'ok', text: `${names.join(' and ')} can be used` };
}
