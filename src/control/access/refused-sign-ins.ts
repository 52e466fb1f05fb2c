/**
 * Events about credentials that were refused. Anybody can have credentials refused, so there are few of these events however often that
 * happens: each says how many were left out before it.
 */
import { steadyMs } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import { perStore } from '../../store/driver.js';
import type { Actor } from '../guard/actor.js';
import type { ContextBase } from '../kernel/context.js';
import { logEvents } from '../kernel/outbox.js';

export interface RefusedSignIn {
  /** Such as `expired`; `unknown`: nobody has the secret. */
  readonly reason: string;
  readonly address: string;
  /** The credential whose secret was right, its user, and its account (store number). */
  readonly known?: {
    readonly actor: Pick<Actor, 'userId' | 'email' | 'kind' | 'keyId' | 'keyName'>;
    readonly account: number | undefined;
  };
}

/** One address has one event about one credential in so many milliseconds. */
const QUIET_MS = 600_000;
/** Events in that time, whoever is refused. */
const MOST = 20;

interface Told {
  /** When it was told last, by address and credential. */
  readonly at: Map<string, number>;
  leftOut: number;
}

const toldOf = perStore((): Told => ({ at: new Map(), leftOut: 0 }));

const NOBODY: Actor = {
  userId: '',
  email: 'unknown',
  kind: 'token',
  superAdministrator: false,
  accountIds: [],
  readOnly: true,
};

/** Writes an event, unless there were many; does not wait for it. */
export function noteRefusedSignIn(base: ContextBase, { reason, address, known }: RefusedSignIn): void {
  const { store, clock, random, log } = base;
  const told = toldOf(store);
  const nowMs = steadyMs(clock);
  for (const [key, at] of told.at) if (nowMs - at >= QUIET_MS) told.at.delete(key);
  const key = `${address} ${known?.actor.keyId ?? ''}`;
  if (told.at.has(key) || told.at.size >= MOST) {
    told.leftOut++;
    return;
  }
  told.at.set(key, nowMs);
  const after = { reason, ...(told.leftOut > 0 && { left_out_before: told.leftOut }) };
  told.leftOut = 0;
  const by = {
    store,
    actor: { ...NOBODY, ...known?.actor },
    requestId: random.uuid(),
    source: 'api',
    address,
  } as const;
  const name = known?.actor.keyName ?? 'an unknown credential';
  const id = known?.actor.keyId === undefined ? undefined : Buffer.from(known.actor.keyId, 'hex');
  store
    .write(() => logEvents(by, clock.nowUs(), [{ kind: 'sign_in.refuse', account: known?.account, id, name, after }]))
    .catch((error: unknown) => log.warn({ reason: messageOf(error) }, 'a refused credential was not noted'));
}
