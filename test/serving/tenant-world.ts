/**
 * An installation with several accounts for the property test of the rule of names: a real store and the real rules, and around
 * them an outside that is a table. What accounts do here is named by words, so that the same happens in two worlds whose
 * identifiers differ.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../../src/base/errors.js';
import { parseIP } from '../../src/base/ip.js';
import { silentLogger } from '../../src/base/log.js';
import { createAccount } from '../../src/control/access/accounts.js';
import { OPERATOR } from '../../src/control/guard/actor.js';
import {
  type AskOutside,
  type Context,
  type ControlSettings,
  DEFAULT_LIMITS,
} from '../../src/control/kernel/context.js';
import { PARTICIPANTS } from '../../src/control/participants.js';
import { createRecord, deleteRecord } from '../../src/control/records/records.js';
import { checkActivation } from '../../src/control/zones/activation.js';
import { createZoneHold, deleteZoneHold } from '../../src/control/zones/hold.js';
import { zoneItem } from '../../src/control/zones/item.js';
import { proofJob } from '../../src/control/zones/proof-job.js';
import { proofRecord } from '../../src/control/zones/proof-record.js';
import { createZone, deleteZone, editZone } from '../../src/control/zones/zones.js';
import { parseName } from '../../src/dns/name.js';
import { checkHostname } from '../../src/hostnames/check.js';
import { putFallback } from '../../src/hostnames/fallback-origin.js';
import { deleteHostname, writeHostname } from '../../src/hostnames/hostnames.js';
import { txtTokenName } from '../../src/hostnames/ownership.js';
import { createResolver } from '../../src/resolver/resolve.js';
import type { Upstream, UpstreamAnswer, UpstreamType } from '../../src/resolver/upstream.js';
import { findZoneAbove } from '../../src/serving/look-up.js';
import { cutBetween, isProven, nearestProvenAbove } from '../../src/serving/name-owner.js';
import { findAccount, findAccountById } from '../../src/store/access/accounts.js';
import { insertIssued } from '../../src/store/certs/issued.js';
import { findRequest } from '../../src/store/certs/requests.js';
import { openStore } from '../../src/store/driver.js';
import { type HostnameRow, hostnamesOfName } from '../../src/store/hostnames/hostnames.js';
import { migrate } from '../../src/store/migrate.js';
import { recordsOfZone } from '../../src/store/records/records.js';
import { findZone, findZoneById, type ZoneRow, zonesOfName } from '../../src/store/zones/zones.js';
import { anywhere } from '../support/egress.js';
import { seededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/test-clock.js';

export const OWNER = 'a';

/** Something that happens; `by`: the account that does it. Names are those of zones, hosts and hostnames. */
export interface Event {
  readonly by: string;
  readonly kind: (typeof EVENT_KINDS)[number];
  readonly zone: string;
  readonly name: string;
  readonly record: { readonly type: string; readonly content: string; readonly proxied: boolean };
  readonly flag: boolean;
  readonly ms: number;
}

export const EVENT_KINDS = [
  ...(['zone', 'drop zone', 'activate', 'hold', 'free', 'type', 'record', 'drop record', 'delegate here'] as const),
  ...(['hostname', 'drop hostname', 'token here', 'zone text here'] as const),
  // Outside, which only who owns a name can change.
  ...(['delegate', 'undelegate', 'text', 'no text', 'lead', 'unlead', 'token'] as const),
  ...(['operator', 'wait', 'restart'] as const),
] as const;

/** Commits wait for the disk elsewhere. */
const FAST = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

type Acts = Readonly<Record<string, () => unknown>>;

/** What name servers and web servers elsewhere say. */
interface Outside {
  readonly delegations: Map<string, readonly string[]>;
  readonly texts: Map<string, Set<string>>;
  readonly aliases: Map<string, string>;
}

export interface WorldOptions {
  readonly accounts: readonly string[];
  readonly nameServers: readonly string[];
  readonly activation: ControlSettings['activation'];
}

/** Where names of nobody lead. */
const ELSEWHERE = '192.0.2.77';
const EDGE = '198.51.100.250';

export class World {
  readonly clock = new TestClock();
  private readonly directory = mkdtempSync(join(FAST, 'zoneplane-tenants-'));
  private readonly random = seededRandom(7);
  private readonly outside: Outside = { delegations: new Map(), texts: new Map(), aliases: new Map() };
  private readonly accounts = new Map<string, { readonly id: string; readonly actor: Context['actor'] }>();
  readonly settings: ControlSettings;
  store = openStore(this.directory);

  constructor({ nameServers, activation }: WorldOptions) {
    this.settings = {
      nameServers,
      edgeAddresses: [parseIP(EDGE)!],
      nameServerAddresses: [],
      ownAddresses: [],
      activation,
      privateSuffixes: 'refuse',
      limits: DEFAULT_LIMITS,
    };
  }

  static async open(options: WorldOptions): Promise<World> {
    const world = new World(options);
    migrate(world.store, world.clock, world.random);
    for (const name of options.accounts) {
      const { id } = await createAccount(world.operator(), { name, members: [`${name}@example.org`] });
      const actor = { ...OPERATOR, kind: 'token', superAdministrator: false, accountIds: [id], email: name } as const;
      world.accounts.set(name, { id, actor });
    }
    return world;
  }

  close(): void {
    this.store.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  operator(): Context {
    const { store, clock, random, settings } = this;
    const upstream: Upstream = { query: async (name, type) => this.answer(name, type) };
    return {
      ...{ store, clock, random, settings, log: silentLogger(), participants: PARTICIPANTS },
      egress: anywhere(clock),
      ...{ actor: OPERATOR, requestId: 'test', source: 'api' },
      findDelegation: async (name) => this.delegationOf(name),
      askOutside: upstream.query as AskOutside,
    };
  }

  private context(by: string): Context {
    return { ...this.operator(), actor: this.accounts.get(by)!.actor };
  }

  /** Store number. */
  accountNumber(by: string): number {
    return findAccountById(this.store, Buffer.from(this.accounts.get(by)!.id, 'hex'))!.seq;
  }

  accountName(seq: number): string {
    return findAccount(this.store, seq)!.name;
  }

  /** The zone of an account with a name. */
  zoneOf(by: string, name: string): ZoneRow | undefined {
    return zonesOfName(this.store, name).find(({ account }) => this.accountName(account) === by);
  }

  hostnameOf(by: string, name: string): HostnameRow | undefined {
    return hostnamesOfName(this.store, name).find(
      ({ zone }) => this.accountName(findZone(this.store, zone)!.account) === by,
    );
  }

  /** Whether the nearest zone of an account above a name delegates it to this installation, where another account has proven it. */
  isGivenAway(by: string, host: string): boolean {
    const nearest = findZoneAbove(this.store, parseName(`${host}.`), ({ served }) => served === 1);
    if (!nearest || this.accountName(nearest.account) === by || !isProven(nearest)) return false;
    const above = nearestProvenAbove(this.store, nearest);
    return (
      above !== undefined &&
      this.accountName(above.account) === by &&
      cutBetween(this.store, above, nearest) !== undefined
    );
  }

  zoneOfHostname({ zone }: HostnameRow): ZoneRow | undefined {
    return findZone(this.store, zone);
  }

  /** Nothing of what happened is left but time. */
  async clear(): Promise<void> {
    for (const { id } of this.store.prepare<[], { id: Uint8Array }>('SELECT id FROM zones').all()) {
      await deleteZone(this.operator(), Buffer.from(id).toString('hex'));
    }
    const { delegations, texts, aliases } = this.outside;
    for (const said of [delegations, texts, aliases]) said.clear();
    this.clock.advance(7 * 86_400_000);
  }

  /** Whether it was refused, and how. Then everything that looks by itself has looked. */
  async happen(event: Event): Promise<string> {
    let outcome = 'done';
    try {
      await this.act(event);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      outcome = `${error.code}`;
    }
    await this.checkHostnames();
    return outcome;
  }

  private async act(event: Event): Promise<void> {
    if (event.kind === 'restart') this.restart();
    else if (event.kind === 'wait') await this.wait(event.ms);
    else await { ...this.zoneActs(event), ...this.hostActs(event), ...this.outsideActs(event) }[event.kind]?.();
  }

  private restart(): void {
    this.store.close();
    this.store = openStore(this.directory);
  }

  /** Time passes, and the job looks at every zone. */
  private async wait(ms: number): Promise<void> {
    this.clock.advance(ms);
    const job = proofJob(this.operator());
    const ids = this.store.prepare<[], { id: Uint8Array }>('SELECT id FROM zones ORDER BY seq').all();
    const run = { clock: this.clock, requireLease: () => {}, signal: new AbortController().signal };
    for (const { id } of ids) await job.handler(run as never, Buffer.from(id).toString('hex'));
  }

  private idOf(by: string, name: string): string {
    const zone = this.zoneOf(by, name);
    return zone ? Buffer.from(zone.id).toString('hex') : '0'.repeat(32);
  }

  private zoneActs({ by, zone, name, record, flag }: Event): Acts {
    const ctx = this.context(by);
    const id = this.idOf(by, zone);
    return {
      zone: () => createZone(ctx, { name: zone }),
      'drop zone': () => deleteZone(ctx, id),
      activate: () => checkActivation(ctx, id),
      operator: () => checkActivation(this.operator(), id),
      hold: () => createZoneHold(ctx, id, flag),
      free: () => deleteZoneHold(ctx, id),
      type: () => editZone(ctx, id, { type: flag ? 'full' : 'partial' }),
      record: () => createRecord(ctx, id, { ...record, name, ttl: record.proxied ? 1 : 60 }),
      'drop record': () => this.dropRecord(ctx, this.zoneOf(by, zone), name),
      'delegate here': async () => {
        for (const content of this.nameServersOf(by, name) ?? []) {
          await createRecord(ctx, id, { type: 'NS', name, content, ttl: 60 });
        }
      },
      'zone text here': () => {
        const claim = this.zoneOf(by, name);
        if (!claim) return;
        const { name: at, content } = proofRecord(claim);
        return createRecord(ctx, id, { type: 'TXT', name: at, content: `"${content}"`, ttl: 60 });
      },
    };
  }

  private async dropRecord(ctx: Context, zone: ZoneRow | undefined, name: string): Promise<void> {
    if (!zone) return;
    const rows = [...recordsOfZone(this.store, zone.seq)].filter((row) => row.name === name);
    for (const row of rows) {
      await deleteRecord(ctx, Buffer.from(zone.id).toString('hex'), Buffer.from(row.id).toString('hex'));
    }
  }

  private hostActs({ by, zone, name, flag }: Event): Acts {
    const ctx = this.context(by);
    const id = this.idOf(by, zone);
    const row = this.hostnameOf(by, name);
    return {
      hostname: () => this.addHostname(ctx, id, { name, wildcard: flag }),
      'drop hostname': () => (row ? deleteHostname(ctx, this.idOfZone(row.zone), row.id) : undefined),
      'token here': () =>
        row && createRecord(ctx, id, { type: 'TXT', name: txtTokenName(name), content: `"${row.txt_token}"`, ttl: 60 }),
    };
  }

  private idOfZone(seq: number): string {
    return Buffer.from(findZone(this.store, seq)!.id).toString('hex');
  }

  /** With a certificate that was brought, and a least version of TLS that shows whose settings are used. */
  private async addHostname(
    ctx: Context,
    zoneId: string,
    { name, wildcard }: { readonly name: string; readonly wildcard: boolean },
  ): Promise<void> {
    await putFallback(ctx, zoneId, `origin.${zonesOfId(this, zoneId)}`);
    const settings = { min_tls_version: ctx.actor.email === OWNER ? '1.2' : '1.3' } as const;
    const covered = wildcard && !name.startsWith('*.') ? { wildcard } : {};
    const input = { hostname: name, ssl: { method: 'txt', type: 'dv', settings, ...covered } } as const;
    const { id } = await writeHostname(ctx, { publicNames: false }, zoneId, () => input);
    const names = wildcard && !name.startsWith('*.') ? [name, `*.${name}`] : [name];
    await this.certify('hostname', id, names);
  }

  /** An owner of certificates gets one. */
  private async certify(kind: 'hostname' | 'zone', owner: string, names: readonly string[]): Promise<void> {
    const request = findRequest(this.store, kind, owner);
    if (!request) return;
    const nowMs = this.clock.nowMs();
    await this.store.write(() =>
      insertIssued(this.store, {
        ...{ id: this.random.uuid(), request: request.seq, authority: '', uploaded: 1, renewal: 0 },
        ...{ names: JSON.stringify(names), chain: '', private_key: new Uint8Array(1), issuer: '', serial: '' },
        ...{ signature: '', fingerprint: '', not_before: nowMs - 1000, not_after: nowMs + 400 * 86_400_000 },
      }),
    );
  }

  private nameServersOf(by: string, name: string): readonly string[] | undefined {
    const zone = this.zoneOf(by, name);
    return zone && zoneItem(this.operator(), zone).nameServers;
  }

  private outsideActs({ by, zone, name }: Event): Acts {
    const { delegations, texts, aliases } = this.outside;
    const claim = this.zoneOf(by, zone);
    const add = (at: string, content: string): void => void texts.set(at, new Set([...(texts.get(at) ?? []), content]));
    return {
      delegate: () => {
        const names = this.nameServersOf(by, zone);
        if (names) delegations.set(zone, names);
      },
      undelegate: () => delegations.delete(zone),
      text: () => {
        if (!claim) return;
        const { name: at, content } = proofRecord(claim);
        add(at, content);
      },
      'no text': () => texts.delete(`_zoneplane-zone.${zone}`),
      lead: () => aliases.set(name, `origin.${zone}`),
      unlead: () => {
        aliases.delete(name);
        texts.delete(txtTokenName(name));
      },
      token: () => {
        const row = this.hostnameOf(by, name);
        if (row) add(txtTokenName(name), row.txt_token);
      },
    };
  }

  /** Everything that is checked after changes has been checked. */
  private async checkHostnames(): Promise<void> {
    const ctx = this.operator();
    const { store, clock, random, settings } = this;
    const resolver = createResolver({
      ...{ store, clock, random, serving: settings },
      upstream: { query: async (name, type) => this.answer(name, type) },
    });
    const hostnames = {
      resolver,
      fetchToken: async () => undefined,
      publicNames: false,
      certificates: undefined as never,
    };
    const ids = this.store
      .prepare<[], { id: string }>("SELECT id FROM custom_hostnames WHERE state IN ('pending', 'active') ORDER BY seq")
      .all();
    for (const { id } of ids) await checkHostname({ ...ctx, hostnames }, id, { planned: false, fresh: true });
  }

  /** What a resolver elsewhere says: for names that are delegated here, what is served here. */
  private answer(name: string, type: string): UpstreamAnswer {
    const { delegations, texts, aliases } = this.outside;
    const own = type === 'NS' ? delegations.get(name) : undefined;
    if (own && !this.leadsHere(name)) return found(own.map((content) => ({ name, type: 'NS', ttl: 60, content })));
    if (this.leadsHere(type === 'NS' ? name : `below.${name}`)) return this.served(name, type);
    const alias = aliases.get(name) ?? aliases.get(name.replace(/^[^.]*/, '*'));
    if (alias !== undefined) return found([{ name, type: 'CNAME', ttl: 60, content: alias }]);
    const said = type === 'TXT' ? [...(texts.get(name) ?? [])] : [];
    if (said.length > 0) return found(said.map((content) => ({ name, type: 'TXT', ttl: 60, content })));
    if (type === 'A' && name.startsWith('app.')) return found([{ name, type: 'A', ttl: 60, content: ELSEWHERE }]);
    return { status: 'nxdomain', records: [], referral: [] };
  }

  /** As the servers of the parent have it. */
  private delegationOf(name: string): readonly string[] | undefined {
    if (!this.leadsHere(name)) return this.outside.delegations.get(name);
    const { status, records } = this.served(name, 'NS');
    return status === 'ok' ? records.map(({ content }) => content) : undefined;
  }

  /** Whether a name above this one is delegated to the servers of this installation. */
  private leadsHere(name: string): boolean {
    const above = name
      .split('.')
      .slice(1)
      .map((_, i, labels) => labels.slice(i).join('.'));
    const names = above.map((apex) => this.outside.delegations.get(apex)).find((found) => found !== undefined);
    return names?.some((server) => this.settings.nameServers.includes(server)) === true;
  }

  private served(name: string, type: string): UpstreamAnswer {
    const zone = findZoneAbove(this.store, parseName(`${name}.`), ({ served }) => served === 1);
    if (!zone) return { status: 'servfail', records: [], referral: [] };
    const rows = [...recordsOfZone(this.store, zone.seq)].filter((row) => row.name === name);
    if (rows.some(({ proxied }) => proxied === 1)) {
      return type === 'A'
        ? found([{ name, type, ttl: 60, content: EDGE }])
        : { status: 'nodata', records: [], referral: [] };
    }
    const fitting = rows.filter((row) => row.type === TYPES[type] || row.type === TYPES['CNAME']);
    const records = fitting.map((row) => {
      const content = row.content.replace(/^"|"$/g, '').replace(/\.$/, '');
      return {
        name,
        type: row.type === TYPES['CNAME'] ? ('CNAME' as const) : (type as UpstreamType),
        ttl: 60,
        content,
      };
    });
    return records.length > 0 ? found(records) : { status: 'nxdomain', records: [], referral: [] };
  }
}

const TYPES: Readonly<Record<string, number>> = { A: 1, NS: 2, CNAME: 5, TXT: 16, AAAA: 28 };

function found(records: UpstreamAnswer['records']): UpstreamAnswer {
  return { status: 'ok', records, referral: [] };
}

function zonesOfId({ store }: World, id: string): string {
  return findZoneById(store, Buffer.from(id, 'hex'))?.name ?? 'none.test';
}
