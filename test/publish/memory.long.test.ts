/** Memory of unused images is freed while threads that allocate nothing answer queries. */
import { createSocket } from 'node:dgram';
import t, { type Test } from 'tap';
import { DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { SystemClock, sleep } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { Type } from '../../src/dns/codes.js';
import { ownerKeyOf, parseName } from '../../src/dns/name.js';
import { type Publisher, startPublisher } from '../../src/publish/publisher.js';
import type { Change, ZoneSource } from '../../src/publish/source.js';
import { startDnsServers } from '../../src/server/start.js';
import type { ServedOwner } from '../../src/serving/owner.js';
import type { ServingZone } from '../../src/serving/zone.js';
import { soaRRsets } from '../../src/zone/derive/soa.js';
import { makeQuery } from '../support/message.js';
import { plainZone } from '../support/served-zones.js';

const APEX = parseName('big.test.');
const OWNERS = 30_000;
const ROUNDS = 20;
const clock = new SystemClock();
const KEYS = Array.from({ length: OWNERS }, (_, i) => ownerKeyOf(parseName(`host${i + OWNERS}.big.test.`), APEX));
const ZONE = plainZone(APEX);

/** A zone of many names that comes, goes and changes, without the time it takes to write it to a database. */
class GrowingSource implements ZoneSource {
  private readonly log: { readonly change: Change; readonly owners: readonly Uint8Array[] }[] = [];
  private readonly text = new Uint8Array(1024).fill(255);
  isServed = false;

  /** A change of these owners, or of the whole zone. */
  add(owners?: readonly Uint8Array[]): void {
    const complete = owners !== undefined;
    this.log.push({ change: { sequence: this.log.length + 1, zone: 1, complete }, owners: owners ?? [] });
  }

  snapshot<T>(read: () => T): T {
    return read();
  }

  dataVersion = (): number => this.log.length;
  lastChange = (): number => this.log.length;
  firstChange = (): number => 1;
  changesAfter = (sequence: number, limit: number): Change[] =>
    this.log.slice(sequence, sequence + limit).map(({ change }) => change);
  touchedOwners = (sequence: number): readonly Uint8Array[] => this.log[sequence - 1]!.owners;
  servedZones = (): number[] => (this.isServed ? [1] : []);
  accountOf = (): number => 1;
  servedRecords = (): number => 0;
  expiryOf = (): undefined => undefined;
  checkedSince = (): [] => [];
  incomingVersion = (): number => 0;
  zone = (): ServingZone | undefined => (this.isServed ? ZONE : undefined);

  recordCount = (): number => OWNERS;
  ownersOfSettings = (): Uint8Array[] => [];

  *owners(): Generator<ServedOwner> {
    yield this.owner(ZONE, new Uint8Array(0));
    for (const key of KEYS) yield this.owner(ZONE, key);
  }

  owner(_zone: ServingZone, ownerKey: Uint8Array): ServedOwner {
    if (ownerKey.length === 0) return { ownerKey, records: [], rrsets: soaRRsets(ZONE.facts.soa) };
    const record = { type: Type.txt, ttl: 300, proxied: false, rdata: this.text };
    return { ownerKey, records: [record], rrsets: [{ type: Type.txt, ttl: 300, rdatas: [this.text] }] };
  }

  hashedAtOrBefore = (): undefined => undefined;
  memberAtOrBefore = (): Uint8Array => new Uint8Array(0);
  exists = (): boolean => true;
  hashedOwners = (): Iterable<never> => [];
  hashedOwner = (): undefined => undefined;
}

interface Service {
  readonly source: GrowingSource;
  readonly publisher: Publisher;
  /** Waits until every answer shows all changes. */
  settle(): Promise<void>;
  answers(): number;
}

async function startService(t: Test): Promise<Service> {
  const source = new GrowingSource();
  const log = silentLogger();
  const publisher = startPublisher({ source, engine: DEFAULT_ENGINE_SETTINGS, clock, log, seed: 7 });
  const servers = await startDnsServers({
    addresses: ['127.0.0.1'],
    port: 0,
    transport: 'auto',
    // One of them never hears a question.
    workers: 2,
    answer: publisher.answer,
    workerEngine: { connect: () => publisher.connectWorker() },
    log,
    clock,
  });
  const client = createSocket('udp4');
  let answers = 0;
  client.on('message', () => answers++);
  const question = makeQuery(parseName('host30007.big.test.'), Type.txt);
  const asking = setInterval(() => client.send(question, servers.port, '127.0.0.1'), 2);
  t.teardown(async () => {
    clearInterval(asking);
    client.close();
    await servers.close();
    publisher.close();
  });
  return {
    source,
    publisher,
    async settle() {
      const wanted = source.lastChange();
      const isBehind = (): boolean => {
        const { appliedChange, loadingZones, image } = publisher.status();
        return appliedChange < wanted || loadingZones.length > 0 || image.isRenewing;
      };
      while (isBehind()) await sleep(4);
      await sleep(30);
    },
    answers: () => answers,
  };
}

const megabytes = (octets: number): number => Math.round(octets / (1 << 20));

/** Runs rounds and compares memory after the first ones with the most there was later; gives up at once when it is too much. */
async function watchMemory(t: Test, limit: () => number, round: () => Promise<void>): Promise<void> {
  let settled = 0;
  let most = 0;
  for (let i = 1; i <= ROUNDS; i++) {
    await round();
    const { rss } = process.memoryUsage();
    if (i <= 5) settled = Math.max(settled, rss);
    most = Math.max(most, rss);
    if (most - settled > limit() * 3) break;
  }
  t.comment(
    `${megabytes(settled)} MB after five rounds, ${megabytes(most)} MB at most, limit ${megabytes(limit())} MB`,
  );
  t.ok(most - settled < limit(), 'memory stays within the limit');
}

t.test('a zone that is added and removed leaves nothing behind', async (t) => {
  const { source, publisher, settle, answers } = await startService(t);
  let image = 0;
  await watchMemory(
    t,
    // One image.
    () => image,
    async () => {
      source.isServed = true;
      source.add();
      await settle();
      const { heapOctets, slotOctets, nodes } = publisher.status().image;
      image = heapOctets + slotOctets;
      t.equal(nodes, OWNERS + 1);
      source.isServed = false;
      source.add();
      await settle();
      t.ok(publisher.status().image.heapOctets < image / 4);
    },
  );
  t.ok(answers() > 100, `${answers()} questions were answered meanwhile`);
});

t.test('changes of the same records leave nothing behind', async (t) => {
  const { source, publisher, settle } = await startService(t);
  source.isServed = true;
  source.add();
  await settle();
  const { heapOctets, slotOctets } = publisher.status().image;
  await watchMemory(
    t,
    // What is no longer used may take as much as what is, before it is compacted.
    () => 2 * (heapOctets + slotOctets),
    async () => {
      // 100 000 in all.
      for (let i = 0; i < 5; i++) {
        const keys = Array.from({ length: 1000 }, (_, index) => KEYS[i * 1000 + index]!);
        source.add(keys);
        await settle();
      }
    },
  );
  t.ok(publisher.status().image.heapOctets < 3 * heapOctets);
});
