/** The files that say where addresses are: read at the start, and again when they are replaced. */
import { readFileSync, statSync } from 'node:fs';
import { REGIONS } from '../../balancing/region-codes.js';
import { regionOf } from '../../balancing/regions.js';
import type { Clock } from '../../base/clock.js';
import { messageOf, UserError } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import type { Settings } from '../../config/schema.js';
import type { Surroundings } from '../../explain/balancer.js';
import { createPlaceFinder, type PlaceSource } from '../../location/finder.js';
import { parsePlacedNetworks } from '../../location/networks.js';

/** Milliseconds between two checks of the files. */
const LOOK_PERIOD_MS = 5000;
/** Octets: several times the largest database that is published. */
const MOST_OCTETS = 1 << 30;
/** Faults of lines that are told. */
const MOST_TOLD = 5;

type PlaceFiles = Pick<Settings, 'geoDatabase' | 'geoNetworks'>;

/** What the files say; undefined when none are configured. Throws a UserError when one cannot be used. */
export function readPlaces(files: PlaceFiles, version = 1): PlaceSource | undefined {
  const { geoDatabase, geoNetworks } = files;
  if (geoDatabase === undefined && geoNetworks === undefined) return undefined;
  const database = geoDatabase === undefined ? undefined : shared(read(geoDatabase, '--geo-database'));
  const networks = geoNetworks === undefined ? undefined : read(geoNetworks, '--geo-networks').toString('utf8');
  const { faults } = parsePlacedNetworks(networks ?? '', REGIONS);
  if (faults.length > 0) {
    const told = faults.slice(0, MOST_TOLD).map(({ line, message }) => `${geoNetworks}:${line}: ${message}`);
    throw new UserError(told.join('\n'), 'Each line of --geo-networks has a network, a country and a region.');
  }
  const source = { version, database, networks };
  try {
    createPlaceFinder(source, { regions: REGIONS, regionOf });
  } catch (error) {
    throw new UserError(
      `${geoDatabase} is not a database of places: ${messageOf(error)}`,
      '--geo-database needs a file in MaxMind’s format, such as GeoLite2-City.mmdb.',
    );
  }
  return source;
}

function read(file: string, flag: string): Buffer {
  try {
    if (statSync(file).size > MOST_OCTETS) throw new RangeError(`it is larger than ${MOST_OCTETS} octets`);
    return readFileSync(file);
  } catch (error) {
    throw new UserError(`${file} cannot be read: ${messageOf(error)}`, `Check ${flag}.`);
  }
}

function shared(octets: Buffer): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(octets.length);
  Buffer.from(memory).set(octets);
  return memory;
}

/** A text that changes whenever one of the files changes. */
export function stateOfFiles(files: readonly string[]): string {
  return files
    .map((file) => statSync(file, { throwIfNoEntry: false }))
    .map((found) => (found ? `${found.ino} ${found.mtimeMs} ${found.size}` : 'absent'))
    .join();
}

/** Names of the configured files. */
export function namesOfPlaces({ geoDatabase, geoNetworks }: PlaceFiles): readonly string[] {
  return [geoDatabase, geoNetworks].filter((file) => file !== undefined);
}

/** The location of this server, and the content of the files, for the explanation of answers. */
export function surroundingsOf(settings: PlaceFiles & Pick<Settings, 'region' | 'locationCode'>): () => Surroundings {
  const places = createPlaces(settings);
  return () => ({ region: settings.region ?? '', pop: settings.locationCode ?? '', places: places() });
}

/** For occasional use: reads the files on first use and after a change. After an unusable change, the former content stays. */
function createPlaces(files: PlaceFiles): () => PlaceSource | undefined {
  const names = namesOfPlaces(files);
  let seen = '';
  let places: PlaceSource | undefined;
  return () => {
    const found = stateOfFiles(names);
    if (found === seen) return places;
    seen = found;
    try {
      places = readPlaces(files);
    } catch (error) {
      // The process that answers queries has logged it.
      if (!(error instanceof UserError)) throw error;
    }
    return places;
  };
}

/**
 * Calls `use` with what the files say when one of them was replaced. What cannot be used is logged once, and what was read before
 * stays. The returned function ends the watch.
 */
export function watchPlaces(
  files: PlaceFiles,
  use: (places: PlaceSource) => void,
  clock: Clock,
  log: Logger,
): () => void {
  const names = namesOfPlaces(files);
  if (names.length === 0) return () => {};
  let seen = stateOfFiles(names);
  let version = 1;
  return clock.every(LOOK_PERIOD_MS, () => {
    const found = stateOfFiles(names);
    if (found === seen) return;
    seen = found;
    try {
      use(readPlaces(files, ++version)!);
      log.info({ files: names }, 'the places of addresses were read again');
    } catch (error) {
      log.error(
        { reason: messageOf(error), files: names },
        'the new places of addresses cannot be used, the old ones stay',
      );
    }
  });
}
