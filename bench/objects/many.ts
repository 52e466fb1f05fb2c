/** A million keys, listed page by page, and an upload of ten thousand parts, completed. */
import { randomUUID } from 'node:crypto';
import { openStore } from '../../src/store/driver.js';
import { findBucketByName } from '../../src/store/objects/buckets.js';
import { insertObject } from '../../src/store/objects/objects.js';
import { spreadOf } from '../latency.js';
import { cpuSeconds, type Started } from '../processes.js';
import { BUCKET } from './doors.js';
import type { Asker } from './signed.js';

const KEYS = 1_000_000;
const KEYS_OF_A_WRITE = 5000;
const PARTS = 10_000;
const PART_OCTETS = 5 << 20;
/** Parts that are copied at the same time. */
const AT_ONCE = 16;
const COMPLETIONS = 3;

/** Times of pages of 1000 keys, and of 1000 groups. */
export async function measureLists(
  dataDirectory: string,
  server: Started,
  asker: Asker,
): Promise<Record<string, number>> {
  await fill(dataDirectory);
  const figures: Record<string, number> = {};
  for (const [name, query] of Object.entries({
    keys: { prefix: 'many/' },
    groups: { prefix: 'many/', delimiter: '/' },
  })) {
    const times: number[] = [];
    const before = cpuSeconds(server);
    let token: string | undefined;
    let entries = 0;
    do {
      const more = token === undefined ? {} : { 'continuation-token': token };
      const { text, ms } = await asker.ask('GET', `/${BUCKET}`, { 'list-type': '2', ...query, ...more });
      times.push(ms);
      entries += Number(/<KeyCount>(\d+)/.exec(text)?.[1]);
      token = /<NextContinuationToken>([^<]+)/.exec(text)?.[1];
    } while (token !== undefined);
    const { p50, p99 } = spreadOf(times);
    const label = `pages of 1000 ${name} of ${entries}`;
    figures[`${label}: p50 ms`] = p50;
    figures[`${label}: p99 ms`] = p99;
    figures[`${label}: ms of processor time`] = ((cpuSeconds(server) - before) * 1000) / times.length;
  }
  return figures;
}

/** Rows as they would be after as many uploads of empty objects. */
async function fill(dataDirectory: string): Promise<void> {
  const store = openStore(dataDirectory);
  const bucket = findBucketByName(store, 1, 'default', BUCKET)!.seq;
  const row = {
    ...{
      bucket,
      size: 0,
      md5: Buffer.from('d41d8cd98f00b204e9800998ecf8427e', 'hex'),
      storage_class: 'Standard' as const,
    },
    ...{ http_metadata: '{}', custom_metadata: '{}', metadata_size: 0, uploaded_at: Date.now() * 1000 },
    ...{ blob: null, upload: null, parts: null, checksum: null, crc32: null },
  };
  for (let at = 0; at < KEYS; at += KEYS_OF_A_WRITE) {
    const version = randomUUID();
    await store.write(() => {
      for (let i = at; i < at + KEYS_OF_A_WRITE; i++) {
        const key = `many/${String(Math.floor(i / 100)).padStart(5, '0')}/object-${String(i % 100).padStart(2, '0')}`;
        insertObject(store, { ...row, key, version }, new Uint8Array());
      }
    });
  }
  store.close();
}

/** The parts are copies of one object, which share its body. */
export async function measureCompletion(server: Started, asker: Asker): Promise<Record<string, number>> {
  const path = `/${BUCKET}/of-parts`;
  await asker.ask('PUT', `/${BUCKET}/part`, {}, { body: Buffer.alloc(PART_OCTETS, 'zoneplane') });
  const times: number[] = [];
  let processor = 0;
  for (let round = 0; round < COMPLETIONS; round++) {
    const begun = await asker.ask('POST', path, { uploads: '' });
    const uploadId = /<UploadId>([^<]+)/.exec(begun.text)![1]!;
    const parts: string[] = [];
    const numbers = Array.from({ length: PARTS }, (_, i) => i + 1).values();
    const copy = async (): Promise<void> => {
      for (const number of numbers) {
        const headers = { 'x-amz-copy-source': `/${BUCKET}/part` };
        const { text } = await asker.ask('PUT', path, { partNumber: String(number), uploadId }, { headers });
        const etag = /<ETag>([^<]+)/.exec(text)![1]!;
        parts[number] = `<Part><PartNumber>${number}</PartNumber><ETag>${etag}</ETag></Part>`;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, copy));
    const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
    const before = cpuSeconds(server);
    times.push((await asker.ask('POST', path, { uploadId }, { body })).ms);
    processor += cpuSeconds(server) - before;
    await asker.ask('DELETE', path);
  }
  return {
    [`completion of ${PARTS} parts: ms`]: spreadOf(times).p50,
    [`completion of ${PARTS} parts: ms of processor time`]: (processor * 1000) / COMPLETIONS,
  };
}
