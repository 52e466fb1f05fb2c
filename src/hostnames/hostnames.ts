/** Use cases of custom hostnames (v4: §10): create, get, edit, delete. */

import { uuidOctets } from '../base/bytes.js';
import { invariant } from '../base/errors.js';
import { withLimit } from '../base/lifecycle.js';
import { stateOfCertificate } from '../certs/certificate-state.js';
import {
  dropCertificateRequest,
  putCertificateRequest,
  refreshCertificate,
  uploadCertificate,
} from '../certs/certificates.js';
import { whenDeployed } from '../certs/deployment.js';
import { advanceCertificate } from '../certs/issuance/advance.js';
import { HOSTNAME_JOB } from '../control/certificates/drop.js';
import { countIssuance, type IssuanceRefused, lockedOut, orderTimeMs } from '../control/certificates/issuance-limit.js';
import { requireZone } from '../control/guard/access.js';
import { commit, type Draft } from '../control/kernel/commit.js';
import type { Context } from '../control/kernel/context.js';
import { quotaOf, USUAL_QUOTAS } from '../control/rules/quotas.js';
import { settleClaims } from '../control/zones/claims.js';
import { schedule } from '../jobs/schedule.js';
import type { Store } from '../store/driver.js';
import {
  findHostname,
  findHostnameByName,
  type HostnameChange,
  type HostnameRow,
  insertHostname,
  removeHostname,
  updateHostname,
} from '../store/hostnames/hostnames.js';
import { removeJob } from '../store/jobs.js';
import { findZone, type ZoneRow } from '../store/zones/zones.js';
import type { Vault } from '../vault/vault.js';
import { nextState } from './activation.js';
import { checkBrought } from './brought.js';
import { checkHostname } from './check.js';
import type { HostnameContext } from './context.js';
import { hostnameFailure } from './errors.js';
import { isOrigin } from './fallback-origin.js';
import {
  certificateNames,
  certificateOwner,
  certificateRequest,
  type HostnameItem,
  hostnameItem,
  sslConfigurationOf,
} from './item.js';
import { parseHostname, withoutWildcard } from './name.js';
import { parseOrigin, parseOriginSni, requireMetadataSize } from './origin-input.js';
import { delaySeconds } from './schedule.js';
import { parseSsl, type SslBody, type SslInput } from './ssl-input.js';

/** What a client may set. Null and empty texts: none. */
interface HostnameMembers {
  readonly ssl?: SslBody | null | undefined;
  readonly custom_metadata?: Readonly<Record<string, string>> | null | undefined;
  readonly custom_origin_server?: string | null | undefined;
  readonly custom_origin_sni?: string | null | undefined;
}

export interface HostnameInput extends HostnameMembers {
  readonly hostname: string;
}

export interface HostnameEdit extends HostnameMembers {
  /** The same as before. */
  readonly hostname?: string | null | undefined;
}

/** A request waits so long for the first check and the first steps of the certificate, milliseconds. */
const BUDGET_MS = 2000;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export async function getHostname(ctx: Context, zoneId: string, id: string): Promise<HostnameItem> {
  return ctx.store.snapshot(() => {
    const zone = requireZone(ctx, zoneId);
    return itemOf(ctx, zone, requireHostname(ctx, zone, id));
  });
}

export function itemOf({ store, clock }: Context, zone: ZoneRow, row: HostnameRow): HostnameItem {
  return hostnameItem(store, row, zone, stateOfCertificate(store, certificateOwner(row.id), clock.nowMs()));
}

/** Throws 1435 for what is not an identifier, 1436 when the zone has no such hostname. */
export function requireHostname({ store }: Context, zone: ZoneRow, id: string): HostnameRow {
  if (!UUID.test(id.toLowerCase())) throw hostnameFailure('badId');
  const row = findHostname(store, id.toLowerCase());
  if (row?.zone !== zone.seq) throw hostnameFailure('missing');
  return row;
}

/**
 * Nobody looks at the body during a lockout. The answer has what the customer must put in place. Throws
 * {@link IssuanceRefused} for one too many.
 */
export async function createHostname(
  ctx: HostnameContext,
  zoneId: string,
  input: () => HostnameInput | Promise<HostnameInput>,
): Promise<HostnameItem> {
  const made = await writeHostname(ctx, rulesOf(ctx), zoneId, input);
  return ctx.dryRun ? made : beginAndGet(ctx, made.id);
}

/** The rules that requests are checked against. */
export interface HostnameRules {
  /** See parseHostname of name.ts. */
  readonly publicNames: boolean;
  /** Seals keys that customers bring; without it they can bring none. */
  readonly vault?: Vault;
}

function rulesOf({ hostnames: { publicNames, certificates } }: HostnameContext): HostnameRules {
  return { publicNames, vault: certificates.vault };
}

/** The first part of {@link createHostname}: the running server does the checks. */
export async function writeHostname(
  ctx: Context,
  rules: HostnameRules,
  zoneId: string,
  input: () => HostnameInput | Promise<HostnameInput>,
): Promise<HostnameItem> {
  refuseLockedOut(ctx, zoneId);
  const wanted = readCreation(rules, await input());
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    requireRoom(ctx, zone, wanted);
    const refused = countIssuance(ctx.store, zone.account, ctx.clock.nowMs());
    // The lockout must be committed, so the caller throws.
    return refused ? { refused } : { made: addHostname(ctx, rules, draft, zone, wanted) };
  });
  if ('refused' in value) throw value.refused satisfies IssuanceRefused;
  return value.made;
}

function refuseLockedOut(ctx: Context, zoneId: string): void {
  const refused = lockedOut(ctx.store, requireZone(ctx, zoneId).account, ctx.clock.nowMs());
  if (refused) throw refused;
}

interface Creation {
  readonly hostname: string;
  readonly ssl: SslInput | null;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly origin: string | null;
  readonly originSni: string | null;
}

function readCreation(rules: HostnameRules, input: HostnameInput): Creation {
  const hostname = parseHostname(input.hostname, rules);
  const ssl = input.ssl ? parseSsl(input.ssl, hostname, { isEdit: false }) : null;
  const metadata = input.custom_metadata ?? null;
  requireMetadataAllowed(hostname, ssl?.configuration.wildcard ?? false, metadata);
  const origin = parseOrigin(input.custom_origin_server ?? null);
  const originSni = parseOriginSni(input.custom_origin_sni ?? null);
  requireOriginForSni(origin, originSni);
  return { hostname, ssl, metadata, origin, originSni };
}

function requireMetadataAllowed(hostname: string, wildcard: boolean, metadata: Creation['metadata']): void {
  if (metadata === null) return;
  requireMetadataSize(metadata);
  if (!wildcard && !hostname.startsWith('*.')) return;
  throw hostnameFailure('wildcardMetadata', {}, { pointer: '/custom_metadata' });
}

function requireOriginForSni(origin: string | null, sni: string | null): void {
  if (sni !== null && origin === null) throw hostnameFailure('sniWithoutOrigin', {}, { pointer: '/custom_origin_sni' });
}

function requireRoom({ store }: Context, zone: ZoneRow, { hostname, origin }: Creation): void {
  if (findHostnameByName(store, zone.seq, hostname)) {
    throw hostnameFailure('duplicate', {}, { pointer: '/hostname' });
  }
  const { allocated: quota, used } = quotaFor(store, zone.account);
  if (used >= quota) throw hostnameFailure('quota', { quota });
  requireOrigin(store, zone, origin);
}

function requireOrigin(store: Context['store'], zone: ZoneRow, origin: string | null): void {
  if (origin === null || isOrigin(store, zone, origin)) return;
  throw hostnameFailure('foreignOrigin', { name: origin }, { pointer: '/custom_origin_server' });
}

function addHostname(ctx: Context, rules: HostnameRules, draft: Draft, zone: ZoneRow, wanted: Creation): HostnameItem {
  const { store, clock, random } = ctx;
  const { hostname, ssl, metadata, origin, originSni } = wanted;
  const id = random.uuid();
  insertHostname(store, {
    id,
    zone: zone.seq,
    hostname,
    txt_token: random.uuid(),
    http_token: random.uuid(),
    ssl: ssl && JSON.stringify(ssl.configuration),
    metadata: metadata && JSON.stringify(metadata),
    origin,
    origin_sni: originSni,
    next_check_ms: clock.nowMs() + delaySeconds(0) * 1000,
    created_at: draft.now,
  });
  const row = findHostname(store, id)!;
  planCheck(ctx, row);
  if (ssl) wantCertificate(ctx, rules, zone, row, ssl);
  draft.event({ kind: 'custom_hostname.create', zone, id: uuidOctets(id), name: hostname, after: auditView(row) });
  return itemOf(ctx, zone, row);
}

function planCheck({ store, clock }: Context, { id, next_check_ms: atMs }: HostnameRow): void {
  if (atMs !== null) schedule(store, { kind: HOSTNAME_JOB, subject: id, runAtMs: atMs }, clock.nowMs());
}

function wantCertificate(
  ctx: Context,
  { vault }: HostnameRules,
  zone: ZoneRow,
  row: HostnameRow,
  { configuration, brought }: SslInput,
): void {
  const owner = certificateOwner(row.id);
  if (brought.length === 0) {
    const notBeforeMs = orderTimeMs(ctx.store, zone.account, ctx.clock.nowMs());
    putCertificateRequest(ctx, owner, { ...certificateRequest(row.zone, row.hostname, configuration), notBeforeMs });
    return;
  }
  invariant(vault, 'keys are brought to where they can be sealed');
  const names = certificateNames(row.hostname, configuration);
  const checked = checkBrought(brought, names, configuration, ctx.clock.nowMs());
  uploadCertificate({ ...ctx, vault }, owner, { names, zone: row.zone }, checked);
}

/** A certificate that the customer brought stays until something else is asked for. */
function keepsBrought({ store, clock }: Context, row: HostnameRow, { configuration, brought }: SslInput): boolean {
  const before = sslConfigurationOf(row);
  const known = stateOfCertificate(store, certificateOwner(row.id), clock.nowMs());
  if (brought.length > 0 || !before || !known?.uploaded) return false;
  return (['method', 'authority', 'wildcard'] as const).every((name) => configuration[name] === before[name]);
}

/** Without tokens: they are for the customer only. */
function auditView({ hostname, ssl, metadata, origin, origin_sni }: HostnameRow): object {
  return {
    hostname,
    ssl: ssl && JSON.parse(ssl),
    custom_metadata: metadata && JSON.parse(metadata),
    custom_origin_server: origin,
    custom_origin_sni: origin_sni,
  };
}

/** Does the first check and the first steps of the certificate, within the time that a request may take. */
async function beginAndGet(ctx: HostnameContext, id: string): Promise<HostnameItem> {
  const { store, clock, log } = ctx;
  const advance = () => advanceCertificate(ctx.hostnames.certificates, certificateOwner(id), BUDGET_MS);
  const check = checkHostname(ctx, id, { planned: false, fresh: true }).catch((error: unknown) => {
    log.error({ err: error, hostname: id }, 'the first check of a hostname failed; it is checked again later');
  });
  // The certificate of one that is not verified may have to wait for that.
  await Promise.all([withLimit(clock, BUDGET_MS, check.then(advance)), advance()]);
  await whenDeployed(store);
  return store.snapshot(() => {
    const row = findHostname(store, id);
    const zone = row && findZone(store, row.zone);
    if (!zone) throw hostnameFailure('missing');
    return itemOf(ctx, zone, row);
  });
}

/** Members that are absent stay. Begins all checks anew. */
export async function editHostname(
  ctx: HostnameContext,
  zoneId: string,
  id: string,
  edit: HostnameEdit,
): Promise<HostnameItem> {
  const edited = await writeEdit(ctx, rulesOf(ctx), { zoneId, id }, edit);
  return ctx.dryRun ? edited : beginAndGet(ctx, edited.id);
}

/** The first part of {@link editHostname}: the running server does the checks. */
export async function writeEdit(
  ctx: Context,
  rules: HostnameRules,
  { zoneId, id }: { readonly zoneId: string; readonly id: string },
  edit: HostnameEdit,
): Promise<HostnameItem> {
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const row = requireHostname(ctx, zone, id);
    const ssl = readSslEdit(edit, row);
    const change = readEdit(ctx, rules, { zone, row, ssl }, edit);
    restart(ctx, draft, row, change);
    const after = findHostname(ctx.store, row.id)!;
    planCheck(ctx, after);
    if (ssl && !keepsBrought(ctx, row, ssl)) wantCertificate(ctx, rules, zone, after, ssl);
    else if (row.state === 'moved')
      refreshCertificate(ctx, certificateOwner(row.id), orderTimeMs(ctx.store, zone.account, ctx.clock.nowMs()));
    const told = { before: auditView(row), after: auditView(after) };
    draft.event({ kind: 'custom_hostname.edit', zone, id: uuidOctets(row.id), name: row.hostname, ...told });
    return itemOf(ctx, zone, after);
  });
  return value;
}

/** Null: nothing about the certificate is edited. */
function readSslEdit({ ssl }: HostnameEdit, row: HostnameRow): SslInput | null {
  if (!ssl) return null;
  return parseSsl(ssl, row.hostname, { isEdit: true, before: sslConfigurationOf(row) ?? undefined });
}

interface Edited {
  readonly zone: ZoneRow;
  readonly row: HostnameRow;
  readonly ssl: SslInput | null;
}

function readEdit(ctx: Context, rules: HostnameRules, { zone, row, ssl }: Edited, edit: HostnameEdit): HostnameChange {
  const { hostname, custom_metadata: metadata, custom_origin_server: server, custom_origin_sni: sni } = edit;
  if (hostname && parseHostname(hostname, rules) !== row.hostname) {
    throw hostnameFailure('hostnameFixed', {}, { pointer: '/hostname' });
  }
  const origin = server === undefined ? row.origin : parseOrigin(server);
  if (server !== undefined) requireOrigin(ctx.store, zone, origin);
  const originSni = sni === undefined ? (origin === null ? null : row.origin_sni) : parseOriginSni(sni);
  requireOriginForSni(origin, originSni);
  requireMetadataAllowed(row.hostname, ssl?.configuration.wildcard ?? false, metadata ?? null);
  return {
    ...(ssl && { ssl: JSON.stringify(ssl.configuration) }),
    ...(metadata !== undefined && { metadata: metadata && JSON.stringify(metadata) }),
    origin,
    origin_sni: originSni,
  };
}

/** Restarts the schedule. A moved or blocked hostname becomes pending again. */
function restart({ store, clock }: Context, draft: Draft, row: HostnameRow, change: HostnameChange): void {
  const state = nextState(row.state, 'restarted');
  if (state === 'gone') throw new Error('an edit made a hostname go');
  const fromStart =
    state === 'active'
      ? {}
      : { check_number: 0, next_check_ms: clock.nowMs() + delaySeconds(0) * 1000, moved_at: null };
  const forgotten = { elsewhere_count: 0, elsewhere_ms: null };
  updateHostname(store, row.seq, { ...change, ...fromStart, ...forgotten, state, modified_at: draft.now });
}

export async function deleteHostname(ctx: Context, zoneId: string, id: string): Promise<{ readonly id: string }> {
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const row = requireHostname(ctx, zone, id);
    discardHostname(ctx, draft, zone, row);
    return { id: row.id };
  });
  return value;
}

/** Removes a hostname with its certificate. */
export function discardHostname(ctx: Context, draft: Draft, zone: ZoneRow, row: HostnameRow): void {
  removeHostname(ctx.store, row.seq);
  removeJob(ctx.store, HOSTNAME_JOB, row.id);
  dropCertificateRequest(ctx, certificateOwner(row.id));
  if (row.state === 'active') {
    settleClaims(ctx, draft, { name: withoutWildcard(row.hostname), account: zone.account });
  }
  draft.event({
    kind: 'custom_hostname.delete',
    zone,
    id: uuidOctets(row.id),
    name: row.hostname,
    before: auditView(row),
  });
}

export interface HostnameQuota {
  readonly allocated: number;
  readonly used: number;
}

/** Of the account of the zone. */
export async function getHostnameQuota(ctx: Context, zoneId: string): Promise<HostnameQuota> {
  const { account } = requireZone(ctx, zoneId);
  return quotaFor(ctx.store, account);
}

/** An account that is alone has this quota, too, because it counts certificates of an authority. */
function quotaFor(store: Store, account: number): HostnameQuota {
  const { used = 0, most: allocated = USUAL_QUOTAS.hostnames } = quotaOf(store, account, 'hostnames');
  return { allocated, used };
}
