/** Metrics of the admin process itself and of its database. */

import { turnsOfTests } from '../../alerts/send-alert.js';
import { type MetricSample, printMetrics } from '../../base/metrics.js';
import { countOpenFiles, openFileLimit } from '../../base/process/open-files.js';
import { residentOctets } from '../../base/process/resident-memory.js';
import { notedDamage } from '../../bucket/bodies/verify-round.js';
import type { ObjectStore } from '../../bucket/object-store.js';
import { dnssecSamples } from '../../control/dnssec/samples.js';
import { turnsOfImports } from '../../control/imports/places.js';
import { samplesOfWrites } from '../../control/kernel/commit.js';
import type { ContextBase } from '../../control/kernel/context.js';
import { peerSamples } from '../../control/secondary/status.js';
import { turnsOfTexts } from '../../control/templates/text-threads.js';
import type { PasswordHashes } from '../../sign-in/hash.js';
import { storeSize } from '../../store/database-file.js';

export interface Measured {
  samples(): readonly MetricSample[] | Promise<readonly MetricSample[]>;
}

/** The text of `/metrics`. `others`: samples that belong to no part. */
export async function printAll(parts: readonly Measured[], others: readonly MetricSample[]): Promise<string> {
  const measured = await Promise.all(parts.map((part) => part.samples()));
  return printMetrics([...measured.flat(), ...others]);
}

export interface OwnParts {
  readonly base: ContextBase;
  readonly version: string;
  readonly objects: ObjectStore;
  readonly hashes: PasswordHashes;
}

export function ownSamples({ base, version, objects, hashes }: OwnParts): MetricSample[] {
  const { store } = base;
  const gauge = (name: string, help: string, value: number, labels = {}): MetricSample => ({
    name,
    type: 'gauge',
    help,
    labels,
    value,
  });
  return [
    gauge('build_info', 'The running version', 1, { version, node: process.version }),
    gauge('store_size_bytes', 'Size of the database on disk', storeSize(store)),
    gauge(
      'bucket_damaged_objects',
      'Objects whose bodies were found damaged by the slow round through all',
      notedDamage(store).length,
    ),
    gauge('bucket_open_objects', 'Objects being read', objects.openCount()),
    ...openFileSamples(),
    ...turnsOfOwn(base),
    ...objects.samples(),
    ...hashes.samples(),
    ...dnssecSamples(store),
    ...peerSamples(store),
    gauge('admin_resident_memory_bytes', 'Memory of the admin process', residentOctets()),
  ];
}

/** Turns that are kept with the store. */
function turnsOfOwn(base: ContextBase): MetricSample[] {
  return [
    ...turnsOfImports(base).samples('imports'),
    ...turnsOfTexts(base).samples('template-texts'),
    ...turnsOfTests(base).samples('alert-tests'),
    ...samplesOfWrites(base.store),
  ];
}

/**
 * How near the process is to its limit of open files; at the limit itself they cannot be counted, and are said to be that many.
 */
function openFileSamples(): MetricSample[] {
  const limit = openFileLimit();
  if (limit === undefined) return [];
  const about = { type: 'gauge', labels: {} } as const;
  return [
    { ...about, name: 'admin_open_files', help: 'Open files of the admin process', value: countOpenFiles() ?? limit },
    { ...about, name: 'admin_open_files_limit', help: 'Open files the admin process may have', value: limit },
  ];
}
