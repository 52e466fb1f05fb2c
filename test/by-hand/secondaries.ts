/**
 * `node build/test/by-hand/secondaries.js [CHANGES] [SEED]` (500 changes): NSD, Knot and BIND follow random changes of a zone, while at
 * random moments the program ends (by SIGTERM or kill -9) and starts again, a secondary does, or the network of one of them is cut for
 * some seconds, in both directions, with transfers and NOTIFY in it. After every twenty changes all networks are mended, and every copy
 * must become our version, record by record. Prints a line each time; exits with 0 when all went well.
 *
 * It was last run on 2026-11-23, with the seeds 7 and 11 (docs/performance.md, "Zone transfers").
 */
import t, { type Test } from 'tap';
import { SystemClock, sleep, steadyMs } from '../../src/base/clock.js';
import { type Link, startLink } from '../support/link.js';
import { changeSomething, startWorld, untilInSync, type World, withTransfers } from '../support/secondary-world.js';
import { seededRandom } from '../support/seeded-random.js';

const CHANGES = Number(process.argv[2] ?? 500);
const SEED = Number(process.argv[3] ?? 1);
/** Changes until all copies are compared. */
const ROUND = 20;
/** One in so many changes comes with a restart or a cut. */
const FAULT_EVERY = 4;
const MOST_CUT_MS = 12_000;
const clock = new SystemClock();

type Pick = (below: number) => number;

function picker(seed: number): Pick {
  const random = seededRandom(seed);
  // The first numbers of close seeds are close to each other.
  random.bytes(16);
  return (below) => {
    const [high = 0, low = 0] = random.bytes(2);
    return ((high << 8) | low) % below;
  };
}

/** Both directions between the program and one secondary. */
interface Cable {
  readonly toSecondary: Link;
  readonly toProgram: Link;
}

async function lay(t: Test, world: World): Promise<Cable[]> {
  const made = await world.run('tsig', 'create', 'transfer.test');
  world.key = { ...world.key, secret: Buffer.from(made.out.trim(), 'base64') };
  const cables: Cable[] = [];
  for (const secondary of world.secondaries) {
    const { name, port } = secondary;
    const cable = { toSecondary: await startLink(port), toProgram: await startLink(world.program.dnsPort) };
    t.teardown(() => {
      cable.toSecondary.close();
      cable.toProgram.close();
    });
    const place = ['--address', '127.0.0.1', '--port', String(cable.toSecondary.port)];
    const key = cables.length === 0 ? ['--tsig', 'transfer.test'] : [];
    t.match(await world.run('secondary', 'add', name, ...place, ...key, '--zone', 'example.com'), { code: 0 });
    const ours = `127.0.0.1@${cable.toProgram.port}`;
    const printed = await world.run('secondary', 'print', '--kind', name, '--address', ours, '--peer', name);
    t.equal(printed.code, 0, printed.err);
    await secondary.start(withTransfers(name, printed.out));
    cables.push(cable);
  }
  return cables;
}

/** What may happen beside a change; says what it did. */
async function fault(world: World, cables: readonly Cable[], pick: Pick): Promise<string> {
  const index = pick(cables.length);
  const { name } = world.secondaries[index]!;
  switch (pick(4)) {
    case 0:
      await world.restart();
      return 'program ended';
    case 1:
      await world.restart('SIGKILL');
      return 'program killed';
    case 2: {
      await world.secondaries[index]!.stop();
      await sleep(pick(3000));
      await world.secondaries[index]!.start();
      return `${name} killed`;
    }
    default: {
      const cable = cables[index]!;
      for (const link of [cable.toSecondary, cable.toProgram]) link.cut();
      const cutMs = pick(MOST_CUT_MS);
      setTimeout(() => mend([cable]), cutMs);
      return `${name} cut off for ${(cutMs / 1000).toFixed(1)} s`;
    }
  }
}

function mend(cables: readonly Cable[]): void {
  for (const { toSecondary, toProgram } of cables) for (const link of [toSecondary, toProgram]) link.mend();
}

t.setTimeout(CHANGES * 5000 + 600_000);

t.test(`${CHANGES} changes, seed ${SEED}`, { timeout: CHANGES * 5000 + 500_000 }, async (t) => {
  const world = await startWorld(t);
  const cables = await lay(t, world);
  await untilInSync(t, world, 'at the beginning');
  const pick = picker(SEED);
  let said: string[] = [];
  let longestMs = 0;
  for (let change = 1; change <= CHANGES; change++) {
    await changeSomething(world, pick);
    if (pick(FAULT_EVERY) === 0) said.push(await fault(world, cables, pick));
    await sleep(pick(400));
    if (change % ROUND > 0 && change < CHANGES) continue;
    mend(cables);
    const began = steadyMs(clock);
    const { serial, records } = await untilInSync(t, world, `after change ${change}`);
    const tookMs = steadyMs(clock) - began;
    longestMs = Math.max(longestMs, tookMs);
    t.comment(`${change}: serial ${serial}, ${records.length} records, ${Math.round(tookMs)} ms; ${said.join(', ')}`);
    said = [];
  }
  t.comment(`the longest wait for all copies took ${Math.round(longestMs)} ms`);
});
