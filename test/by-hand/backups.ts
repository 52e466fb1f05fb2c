/**
 * Many rounds of two properties: a backup beside writers restores and equals a state between its begin and its end; and no changed
 * octet of a data directory or of a backup is served or passed over. `node build/test/by-hand/backups.js ROUNDS FLIPS`
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesBelow, makeInstallation, openObjects } from '../support/backups.js';
import { runCommand } from '../support/commands.js';

const [rounds = 1000, flips = 500] = process.argv.slice(2).map(Number);
const ends: (() => void)[] = [];
let failures = 0;

function check(isRight: boolean, what: string): void {
  if (isRight) return;
  failures++;
  console.log(`FAILED: ${what}`);
}

const bodyOf = (name: string, count: number): Buffer =>
  Buffer.alloc(70_000 + (count % 7) * 30_000, `${name} ${count} `);
const countOf = (octets: Buffer | undefined): number => Number(/ (\d+) /.exec(octets!.toString('latin1'))![1]);

async function besideWriters(): Promise<void> {
  const { data, directory, run } = await makeInstallation({ teardown: (end) => void ends.push(end as () => void) });
  const open = openObjects(data);
  let count = 0;
  for (const name of ['a', 'b']) await open.put(name, bodyOf(name, 0));
  let isOver = false;
  const writing = (async () => {
    while (!isOver) {
      const next = count + 1;
      await open.put('a', bodyOf('a', next));
      await open.put('b', bodyOf('b', next));
      count = next;
    }
  })();
  for (let round = 0; round < rounds; round++) {
    const file = join(directory, 'b.db');
    const target = join(directory, 'restored');
    const first = count;
    const written = await run('backup', file);
    const last = count + 1;
    check(written.code === 0, `round ${round}: backup: ${written.err}`);
    const restored = await run('restore', file, '--data-dir', target);
    check(restored.code === 0, `round ${round}: restore: ${restored.err}`);
    const copy = openObjects(target);
    const [a, b] = [await copy.get('a'), await copy.get('b')];
    copy.close();
    const [ofA, ofB] = [countOf(a), countOf(b)];
    check(
      ofA >= first && ofA <= last && (ofB === ofA || ofB === ofA - 1),
      `round ${round}: ${first} ${ofA} ${ofB} ${last}`,
    );
    check(a!.equals(bodyOf('a', ofA)) && b!.equals(bodyOf('b', ofB)), `round ${round}: octets`);
    for (const path of [file, `${file}.blobs`, `${file}.sha256`, target]) rmSync(path, { recursive: true });
    if (round % 50 === 49) console.log(`${round + 1} rounds, ${count} writes, ${failures} failures`);
  }
  isOver = true;
  await writing;
  open.close();
}

/** One bit of one file, chosen by a sequence that is always the same. */
function flip(path: string, seed: number): void {
  const octets = readFileSync(path);
  if (octets.length === 0) return;
  octets[(seed * 2_654_435_761) % octets.length]! ^= 1 << (seed % 8);
  writeFileSync(path, octets);
}

async function flippedBits(): Promise<void> {
  const { data, directory, run } = await makeInstallation({ teardown: (end) => void ends.push(end as () => void) });
  const open = openObjects(data);
  const bodies = new Map(
    [...Array(6).keys()].map((n) => [`k${n}`, bodyOf(`k${n}`, n).subarray(0, n < 3 ? 5000 : 400_000)]),
  );
  for (const [key, octets] of bodies) await open.put(key, octets);
  open.close();
  const file = join(directory, 'b.db');
  await run('backup', file);
  const parts = [file, `${file}.sha256`, ...filesBelow(`${file}.blobs`)];
  const kept = new Map(parts.map((path) => [path, readFileSync(path)]));
  let seenInDatabase = 0;
  for (let round = 0; round < flips; round++) {
    const path = parts[round % parts.length]!;
    flip(path, round + 1);
    const verified = await run('backup', 'verify', file);
    check(verified.code === 1 || path.endsWith('.sha256') === true, `flip ${round} in ${path}: ${verified.out}`);
    writeFileSync(path, kept.get(path)!);

    const own = mkdtempSync(join(directory, 'data-'));
    cpSync(data, own, { recursive: true });
    const files = filesBelow(own).filter((name) => /zoneplane\.db$|blobs/.test(name));
    const damaged = files[round % files.length]!;
    flip(damaged, round + 1);
    seenInDatabase += await serveDamaged(own, damaged, bodies);
    rmSync(own, { recursive: true });
    if (round % 50 === 49)
      console.log(`${round + 1} flips, ${failures} failures, ${seenInDatabase} seen in the database`);
  }
}

/** Nothing else than what was stored may be read; in a body, `doctor` must see it. Returns 1 when that saw it in the database. */
async function serveDamaged(data: string, damaged: string, bodies: ReadonlyMap<string, Buffer>): Promise<number> {
  for (const [key, octets] of bodies) {
    try {
      const open = openObjects(data);
      const got = await open.get(key).finally(() => open.close());
      check(got === undefined || got.equals(octets), `${key} is wrong after a flip in ${damaged}`);
    } catch {
      // Refused, which is right.
    }
  }
  const doctor = await runCommand({ ZONEPLANE_DATA_DIR: data, ZONEPLANE_RESOLVER_UPSTREAMS: '' }, 'doctor', '--bodies');
  const isSeen = /^fail +(database|objects|changes|zones)/m.test(doctor.out);
  if (!damaged.endsWith('.db')) check(isSeen, `doctor does not see a flip in ${damaged}`);
  return damaged.endsWith('.db') && isSeen ? 1 : 0;
}

try {
  await besideWriters();
  await flippedBits();
} finally {
  for (const end of ends) end();
}
console.log(failures === 0 ? 'all held' : `${failures} failures`);
process.exitCode = failures === 0 ? 0 : 1;
