/** Data directories with zones and objects, of which backups are made. */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Test } from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { systemRandom } from '../../src/base/random.js';
import { createLocalStore } from '../../src/bucket/local-store.js';
import type { ObjectStore } from '../../src/bucket/object-store.js';
import { openStore, type Store } from '../../src/store/driver.js';
import { allBuckets } from '../../src/store/objects/buckets.js';
import { type Outcome, runCommand } from './commands.js';

export interface Installation {
  /** For what belongs to the test; removed after it. */
  readonly directory: string;
  readonly data: string;
  readonly environment: Record<string, string>;
  run(...args: readonly string[]): Promise<Outcome>;
}

/** One with the zone example.com and the bucket pictures. */
export async function makeInstallation(t: Pick<Test, 'teardown'>): Promise<Installation> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-backup-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const data = join(directory, 'data');
  const environment = { ZONEPLANE_DATA_DIR: data, ZONEPLANE_RESOLVER_UPSTREAMS: '' };
  const run = (...args: readonly string[]): Promise<Outcome> => runCommand(environment, ...args);
  for (const args of [
    ['zone', 'create', 'example.com', '--init'],
    ['bucket', 'create', 'pictures'],
  ]) {
    const { code, err } = await run(...args);
    if (code !== 0) throw new Error(err);
  }
  return { directory, data, environment, run };
}

export interface OpenObjects {
  readonly store: Store;
  readonly objects: ObjectStore;
  readonly bucket: number;
  put(key: string, octets: Uint8Array): Promise<void>;
  /** The octets of an object; undefined where there is none. */
  get(key: string): Promise<Buffer | undefined>;
  close(): void;
}

/** The objects of the bucket pictures in a data directory. */
export function openObjects(data: string): OpenObjects {
  const store = openStore(data);
  const objects = createLocalStore({ store, clock: new SystemClock(), random: systemRandom, log: silentLogger() });
  const bucket = allBuckets(store)[0]!.seq;
  return {
    ...{ store, objects, bucket },
    async put(key, octets) {
      await objects.put(bucket, key, Readable.from([octets]), { httpMetadata: {}, limit: 1 << 30 });
    },
    async get(key) {
      const found = await objects.open(bucket, key, 'test');
      if (!found) return undefined;
      try {
        const pieces: Buffer[] = [];
        for await (const piece of found.read()) pieces.push(Buffer.from(piece));
        return Buffer.concat(pieces);
      } finally {
        await found.close();
      }
    },
    close: () => store.close(),
  };
}

/** Paths of the files below a directory. */
export function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}
