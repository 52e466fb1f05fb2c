/**
 * Sequences of the property test of the rule of names, in a thread of its own, because test runners slow promises down. Each
 * happens in two worlds, with the others and without them, which are compared after each step.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { isProven } from '../../src/serving/name-owner.js';
import { chanceOf, isWithin, type Names, namesOf, nextEvent } from './tenant-events.js';
import { viewOfHost, viewOfTarget, viewOfZone } from './tenant-view.js';
import { OWNER, World, type WorldOptions } from './tenant-world.js';

export interface Sequences {
  readonly options: WorldOptions;
  readonly seeds: readonly number[];
}

export interface SequencesDone {
  /** Names that were compared, counted at each step. */
  readonly compared: number;
  /** The first sequence with a difference, and what differs. */
  readonly failure?: string;
}

const STEPS = 20;

/** What A has had proven in both worlds, and has still where it is alone. */
class Comparison {
  private readonly proven = new Set<string>();

  constructor(
    private readonly both: World,
    private readonly alone: World,
  ) {}

  /** What differs. */
  differences({ zones, hosts, hostnames }: Names): string[] {
    const differences: string[] = [];
    const compare = (what: string, viewOf: (world: World) => object): void => {
      const [here, there] = [this.both, this.alone].map(viewOf) as [Record<string, unknown>, Record<string, unknown>];
      for (const key of Object.keys(there)) {
        const [one, other] = [JSON.stringify(here[key]), JSON.stringify(there[key])];
        if (one !== other) differences.push(`${what}: ${key}\n    with others: ${one}\n    alone:       ${other}`);
      }
    };
    for (const name of zones) {
      if (!this.isKept(`zone ${name}`, (world) => isProvenZone(world, name))) continue;
      compare(`the zone ${name}`, (world) => viewOfZone(world, world.zoneOf(OWNER, name)));
      compare(`a target of ${name}`, (world) => viewOfTarget(world, OWNER, `app.${zones.at(-1)}`));
    }
    for (const host of hosts) {
      const zone = zones.filter((name) => isWithin(host, name) && this.alone.zoneOf(OWNER, name)).at(-1);
      const isOwn = zone !== undefined && this.proven.has(`zone ${zone}`);
      // A has given it to whoever proves it by that.
      if (isOwn && !this.both.isGivenAway(OWNER, host)) compare(host, (world) => viewOfHost(world, OWNER, host));
    }
    for (const name of hostnames) {
      const isActive = (world: World): boolean => isActiveHostname(world, name);
      if (!this.isKept(`hostname ${name}`, isActive)) continue;
      compare(`the hostname ${name}`, (world) => ({ state: world.hostnameOf(OWNER, name)?.state ?? 'none' }));
      compare(`the hostname ${name}`, (world) => viewOfHost(world, OWNER, name.replace('*', 'some')));
    }
    return differences;
  }

  /** How many names are compared. */
  get size(): number {
    return this.proven.size;
  }

  private isKept(what: string, isSo: (world: World) => boolean): boolean {
    if (!isSo(this.alone)) this.proven.delete(what);
    else if (isSo(this.both)) this.proven.add(what);
    return this.proven.has(what);
  }
}

function isProvenZone(world: World, name: string): boolean {
  const zone = world.zoneOf(OWNER, name);
  return zone !== undefined && isProven(zone) && zone.status === 'active';
}

function isActiveHostname(world: World, name: string): boolean {
  const row = world.hostnameOf(OWNER, name);
  const home = row && world.zoneOfHostname(row);
  return row?.state === 'active' && home !== undefined && isProven(home);
}

async function runSequence([both, alone]: readonly [World, World], others: readonly string[], seed: number) {
  const chance = chanceOf(seed);
  const names = namesOf(seed);
  const comparison = new Comparison(both, alone);
  const told: string[] = [];
  let compared = 0;
  for (let step = 0; step < STEPS; step++) {
    const event = nextEvent(both, chance, names, others);
    told.push(JSON.stringify(event));
    const outcome = await both.happen(event).catch((error: unknown) => [...told, error].join('\n'));
    const isShared = event.by === OWNER || event.by === '';
    const expected = isShared ? await alone.happen(event) : outcome;
    if (outcome.length > 40) return { compared, failure: `sequence ${seed}:\n${outcome}` };
    told.push(outcome);
    const differences = comparison.differences(names);
    compared += comparison.size;
    if (outcome !== expected) differences.push(`A is answered ${outcome} instead of ${expected}`);
    if (differences.length > 0) return { compared, failure: [`sequence ${seed}:`, ...told, ...differences].join('\n') };
  }
  return { compared };
}

async function run({ options, seeds }: Sequences): Promise<SequencesDone> {
  const worlds = [await World.open(options), await World.open(options)] as const;
  const others = options.accounts.filter((name) => name !== OWNER);
  let compared = 0;
  try {
    for (const seed of seeds) {
      const done = await runSequence(worlds, others, seed);
      compared += done.compared;
      if (done.failure !== undefined) return { compared, failure: done.failure };
      for (const world of worlds) await world.clear();
    }
    return { compared };
  } finally {
    for (const world of worlds) world.close();
  }
}

parentPort?.postMessage(await run(workerData as Sequences));
