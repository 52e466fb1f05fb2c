/**
 * Obtains and renews certificates step by step (RFC 8555 §7). Each step reads the rows and the authority's state, and
 * stores its result before the next one begins. So the process may stop anywhere and continues with the same order.
 */
import { messageOf } from '../../base/errors.js';
import { issuedFor } from '../../store/certs/issued.js';
import { findOrderUnderWay, type OrderUnderWay } from '../../store/certs/orders.js';
import { findRequest, findRequestById, type RequestRow } from '../../store/certs/requests.js';
import { perStore } from '../../store/driver.js';
import { findZone } from '../../store/zones/zones.js';
import { AuthorityError, type AuthorityName, type Problem } from '../authority.js';
import type { AuthorityChoice } from '../authority-choice.js';
import { type CertificateOwner, dropCertificateRequest } from '../certificates.js';
import { ChainError } from '../chain.js';
import { beginOrder, derOf, findBegunOrder } from './begin.js';
import { chooseFor } from './choose.js';
import type { CertificateContext } from './context.js';
import { mayOrder } from './may-order.js';
import { discardOrder, note, noteMeaning } from './notes.js';
import { takeOrder } from './order-budget.js';
import { continueOrder, keepTokens } from './order-steps.js';
import { caaErrors, lookupError, meaningOf } from './problems.js';
import { checkDelayMs, timeInWindowMs } from './schedule.js';

/** A round has about ten steps; more indicate a bug and are not repeated at once. */
const MOST_STEPS = 60;
const BUG_WAIT_MS = 60_000;
/** A client waits two seconds for the tokens of its order, milliseconds. */
const LOOKUP_PATIENCE_MS = 1_200;
/** Whoever proves a name has its certificate looked at; this is a safety net. */
const UNPROVEN_WAIT_MS = 3_600_000;
const RENEWAL_LOOK_MS = 6 * 3_600_000;

const underWay = perStore(() => new Map<string, Promise<void>>());

/**
 * Runs the due steps of an owner's certificate until it has to wait. `budgetMs`: resolves after this time at the
 * latest, while the steps continue.
 */
export async function advanceCertificate(
  ctx: CertificateContext,
  owner: CertificateOwner,
  budgetMs?: number,
): Promise<void> {
  const work = afterOthers(ctx, `${owner.kind}:${owner.id}`, () => takeSteps(ctx, owner));
  if (budgetMs === undefined) return work;
  let cancel = (): void => {};
  const over = new Promise<void>((resolve) => {
    cancel = ctx.clock.after(budgetMs, resolve);
  });
  work.catch((error: unknown) => ctx.log.error({ err: error, owner }, 'a certificate was not advanced'));
  await Promise.race([work, over]).finally(cancel);
}

/** Resolves when no step is running for an owner. */
export async function stepsEnded({ store }: CertificateContext, { kind, id }: CertificateOwner): Promise<void> {
  await underWay(store)
    .get(`${kind}:${id}`)
    ?.catch(() => {});
}

/** Runs one step at a time for each owner. */
function afterOthers(ctx: CertificateContext, key: string, run: () => Promise<void>): Promise<void> {
  const all = underWay(ctx.store);
  const before = all.get(key) ?? Promise.resolve();
  const work = before.catch(() => {}).then(run);
  all.set(key, work);
  const done = (): void => {
    if (all.get(key) === work) all.delete(key);
  };
  work.then(done, done);
  return work;
}

async function takeSteps(ctx: CertificateContext, owner: CertificateOwner): Promise<void> {
  for (let taken = 0; taken < MOST_STEPS; taken++) {
    const row = findRequest(ctx.store, owner.kind, owner.id);
    if (!row || row.next_at === null || row.next_at > ctx.clock.nowMs()) return;
    await takeStep(ctx, row);
  }
  ctx.log.error({ owner }, 'a certificate makes no progress; it rests for a minute');
  const row = findRequest(ctx.store, owner.kind, owner.id);
  if (row) await note(ctx, row, { next_at: ctx.clock.nowMs() + BUG_WAIT_MS });
}

async function takeStep(ctx: CertificateContext, row: RequestRow): Promise<void> {
  const { store, clock } = ctx;
  // The service itself may need names that are in no zone of ours.
  if (row.owner_kind !== 'service' && !findZone(store, row.zone)) {
    return store.write(() => dropCertificateRequest(ctx, { kind: row.owner_kind, id: row.owner }));
  }
  const order = findOrderUnderWay(store, row.seq);
  try {
    if (order && order.version !== row.version) return await discardOrder(ctx, row, order, {});
    if (row.uploaded === 1) return await note(ctx, row, { next_at: null });
    if (!order && row.status === 'active' && row.renewal === 0) return await considerRenewal(ctx, row);
    if (!mayOrder(store, row)) return await note(ctx, row, { next_at: clock.nowMs() + UNPROVEN_WAIT_MS });
    if (order && clock.nowMs() < order.expires_at && (await keepTokens(ctx, row, order))) return;
    // A first order, which is made while a client waits for its tokens, does not wait for slow resolvers.
    const choice = await chooseFor(ctx, row, !order && row.failures === 0 ? LOOKUP_PATIENCE_MS : undefined);
    if (!order) {
      // Also when CAA is not known yet: the order is where the tokens come from, and nothing is proven before CAA is known.
      return choice.kind === 'blocked'
        ? await noteHeld(ctx, row, choice)
        : await beginInTurn(ctx, row, choice.authority);
    }
    if (clock.nowMs() >= order.expires_at) return await endExpired(ctx, row, order);
    if (order.csr === null && !(choice.kind === 'use' && choice.authority === order.authority)) {
      return await changeAuthority(ctx, row, order, choice);
    }
    if (order.url === '') return await findBegunOrder(ctx, row, order);
    await continueOrder(ctx, row, order, choice);
  } catch (error) {
    const chosen = findRequestById(store, row.id)?.chosen ?? row.chosen;
    await noteFailure(ctx, { ...row, chosen }, order, error);
  }
}

/** Begins an order, if the accounts that order have left any of what the authority allows. */
async function beginInTurn(ctx: CertificateContext, row: RequestRow, authority: AuthorityName): Promise<void> {
  const { store, clock } = ctx;
  const againMs = ctx.authorities.isOutside(authority)
    ? await store.write(() => takeOrder(store, row, authority, clock.nowMs()))
    : undefined;
  return againMs === undefined ? beginOrder(ctx, row, authority) : note(ctx, row, { next_at: againMs });
}

/** CAA forbids issuance, or its result is unknown: no authority is contacted, and the tokens of the order stay. */
function noteHeld(
  ctx: CertificateContext,
  row: RequestRow,
  choice: Exclude<AuthorityChoice, { kind: 'use' }>,
): Promise<void> {
  const again = { failures: row.failures + 1, next_at: ctx.clock.nowMs() + checkDelayMs(row.failures) };
  if (choice.kind === 'wait') {
    const status = row.status === 'caa_error' ? 'pending_validation' : row.status;
    const errors = JSON.stringify([lookupError()]);
    return note(ctx, row, { ...again, status, chosen: row.chosen || choice.authority, errors });
  }
  const { candidates } = choice;
  const because = [...new Set(candidates.map(({ decision }) => decision.because))].join(' ');
  const add = [...new Set(candidates.flatMap(({ decision }) => decision.add))];
  const remove = [...new Set(candidates.flatMap(({ decision }) => decision.remove))];
  const [host] = JSON.parse(row.names) as string[];
  return note(ctx, row, {
    ...again,
    status: 'caa_error',
    chosen: row.chosen || (candidates[0]?.authority ?? ''),
    errors: JSON.stringify(caaErrors(host!, because, add, remove)),
    // The authority's own refusal may be outdated when this is checked again.
    refused: '[]',
  });
}

/** The order's authority may no longer issue. Its tokens are kept while no other authority may. */
function changeAuthority(
  ctx: CertificateContext,
  row: RequestRow,
  order: OrderUnderWay,
  choice: AuthorityChoice,
): Promise<void> {
  if (choice.kind !== 'use') return noteHeld(ctx, row, choice);
  return discardOrder(ctx, row, order, { errors: '[]' });
}

async function considerRenewal(ctx: CertificateContext, row: RequestRow): Promise<void> {
  const { store, clock, random, log } = ctx;
  const nowMs = clock.nowMs();
  const [current] = issuedFor(store, row.seq);
  if (!current || (row.renew_at ?? 0) <= nowMs) {
    const round = { status: 'initializing', renewal: current ? 1 : 0, started_at: nowMs, failures: 0, refused: '[]' };
    return note(ctx, row, round);
  }
  try {
    const authority = await ctx.authorities.of(current.authority as AuthorityName);
    const window = await authority.renewalInfo(derOf(current.chain));
    if (!window) return await note(ctx, row, { next_at: row.renew_at });
    const renewAt = timeInWindowMs(window, row.renew_at!, random);
    const next = Math.max(nowMs, Math.min(renewAt, nowMs + Math.max(window.retryAfterMs, RENEWAL_LOOK_MS)));
    await note(ctx, row, { renew_at: renewAt, next_at: next });
  } catch (error) {
    if (!(error instanceof AuthorityError)) throw error;
    log.warn({ reason: messageOf(error), authority: current.authority }, 'renewal information was not available');
    await note(ctx, row, { next_at: Math.min(row.renew_at!, nowMs + RENEWAL_LOOK_MS) });
  }
}

/** The tokens have expired. An owner with a certificate gets new ones; otherwise a client must ask again. */
function endExpired(ctx: CertificateContext, row: RequestRow, order: OrderUnderWay): Promise<void> {
  if (order.url === '') return discardOrder(ctx, row, order, {});
  if (row.renewal === 1) return discardOrder(ctx, row, order, { started_at: ctx.clock.nowMs() });
  const status = order.csr === null ? 'validation_timed_out' : 'issuance_timed_out';
  return discardOrder(ctx, row, order, { status, next_at: null });
}

async function noteFailure(
  ctx: CertificateContext,
  row: RequestRow,
  order: OrderUnderWay | undefined,
  error: unknown,
): Promise<void> {
  const problem = problemOf(error);
  ctx.log.warn({ problem, names: row.names, authority: order?.authority ?? row.chosen }, 'no certificate yet');
  await noteMeaning(ctx, row, order, meaningOf(problem));
}

/** An error that is not an answer of the authority is a bug and is rethrown. */
function problemOf(error: unknown): Problem {
  if (error instanceof AuthorityError) return error.problem;
  if (!(error instanceof ChainError)) throw error;
  return { type: 'unexpectedAnswer', detail: error.message, status: 0, subproblems: [] };
}
