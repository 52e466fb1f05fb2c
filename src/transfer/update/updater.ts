/**
 * Dynamic updates in the admin process (RFC 2136): checks the signature, applies the update as the key's use case, and
 * answers, signed.
 */
import { toHex } from '../../base/bytes.js';
import { AppError, messageOf } from '../../base/errors.js';
import type { MetricSample } from '../../base/metrics.js';
import { accountIdOf } from '../../control/guard/access.js';
import type { Actor } from '../../control/guard/actor.js';
import type { Context, ContextBase } from '../../control/kernel/context.js';
import { updatePoliciesOf } from '../../control/secondary/tsigs.js';
import { updateFailure } from '../../control/updates/errors.js';
import { applyUpdate } from '../../control/updates/update.js';
import { Class, RCODE_MNEMONICS, Rcode, Type } from '../../dns/codes.js';
import { type MessageHead, readUpdate } from '../../dns/message.js';
import { nameEquals, toFqdn } from '../../dns/name.js';
import { TsigError, type TsigRecord } from '../../dns/tsig.js';
import { findTsigKey } from '../../store/secondary/tsig-keys.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Vault } from '../../vault/vault.js';
import type { AccountKey } from '../keys.js';
import { replyTo, replyToBadSignature, signReply } from '../reply.js';
import { verifySigned } from '../signed-query.js';
import { createAnswers } from './answers.js';
import { rcodeOf } from './rcodes.js';

export interface UpdaterOptions {
  readonly base: ContextBase;
  readonly vault: Vault;
}

export interface Updater {
  /** Answers an update from this address; undefined: there is no answer. Never rejects. */
  answer(request: Uint8Array, address: string): Promise<Uint8Array | undefined>;
  samples(): MetricSample[];
}

/** An update whose signature is right. */
interface SignedRequest {
  readonly request: Uint8Array;
  readonly head: MessageHead;
  readonly zone: ZoneRow;
  readonly key: AccountKey;
  readonly tsig: TsigRecord;
  readonly address: string;
}

export function createUpdater(options: UpdaterOptions): Updater {
  const { clock, log } = options.base;
  const answers = createAnswers(clock);
  const counts = new Map<number, number>();

  const respond = async (request: Uint8Array, address: string): Promise<Uint8Array | undefined> => {
    const judged = judge(options, request, address);
    if (judged === undefined || judged instanceof Uint8Array) return judged;
    const { key, tsig, head } = judged;
    const signed = { key: key.seq, mac: tsig.mac, expiresAt: tsig.time + tsig.fudge };
    const rcode = await answers.once(signed, async () => {
      const done = await run(options, judged, signed);
      counts.set(done, (counts.get(done) ?? 0) + 1);
      return done;
    });
    return signReply(replyTo(head, rcode), { key, tsig }, clock);
  };

  return {
    async answer(request, address) {
      try {
        return await respond(request, address);
      } catch (error) {
        log.error(
          { address, stack: error instanceof Error ? error.stack : messageOf(error) },
          'a dynamic update failed',
        );
        return undefined;
      }
    },
    samples: () =>
      [...counts].map(([rcode, value]) => ({
        name: 'updates_total',
        type: 'counter',
        help: 'Dynamic updates (RFC 2136) with a valid signature, by response code',
        labels: { rcode: RCODE_MNEMONICS[rcode] ?? String(rcode) },
        value,
      })),
  };
}

/** Checks the signature; undefined: it is not signed at all. */
function judge(
  { base, vault }: UpdaterOptions,
  request: Uint8Array,
  address: string,
): SignedRequest | Uint8Array | undefined {
  const { store, clock } = base;
  const signed = verifySigned({ store, vault, clock }, request);
  if (!signed || signed instanceof Uint8Array) return signed;
  const { head, tsig, checked, zone } = signed;
  if (!zone || checked.error !== TsigError.none) return replyToBadSignature(head, tsig, checked, clock);
  return { request, head, zone, key: checked.key!, tsig, address };
}

type Signed = Parameters<ReturnType<typeof createAnswers>['once']>[0];

/** Applies the update; returns the response code. */
async function run(state: UpdaterOptions, judged: SignedRequest, signed: Signed): Promise<number> {
  const { log } = state.base;
  const { zone, key, address } = judged;
  const ctx = contextOf(state, judged);
  const line = { zone: zone.name, actor: ctx.actor.email, address, requestId: ctx.requestId };
  try {
    const { repeated, ...done } = await applyUpdate(ctx, toHex(zone.id), { ...readRequest(judged), signed });
    if (repeated) log.debug(line, 'a dynamic update came again and was not applied again');
    else log.info({ ...line, ...done }, 'dynamic update');
    return Rcode.noError;
  } catch (error) {
    const rcode = rcodeOf(error);
    const said = { ...line, rcode: RCODE_MNEMONICS[rcode], reason: messageOf(error) };
    if (error instanceof AppError) log.info(said, 'a dynamic update was refused');
    else log.error({ ...said, key: toFqdn(key.name), stack: (error as Error).stack }, 'a dynamic update failed');
    return rcode;
  }
}

function readRequest({ request, head, zone }: SignedRequest) {
  const { question } = head;
  const update = readUpdate(request);
  if (!update || question.type !== Type.soa) {
    throw updateFailure('malformed', { reason: 'the message cannot be read as an update of one zone' });
  }
  if (question.class !== Class.in || !nameEquals(question.name, zone.apex)) {
    throw updateFailure('notAuthoritative', { reason: `${toFqdn(question.name)} is not a zone here` });
  }
  return update;
}

function contextOf({ base }: UpdaterOptions, { zone, key, address }: SignedRequest): Context {
  const { store, random } = base;
  const row = findTsigKey(store, key.seq)!;
  const actor: Actor = {
    userId: '',
    email: `update key ${toFqdn(key.name)}`,
    kind: 'tsig',
    superAdministrator: false,
    accountIds: [accountIdOf(store, zone)],
    readOnly: false,
    policies: updatePoliciesOf(row),
    keyId: toHex(row.id),
    keyName: row.name,
  };
  return { ...base, actor, requestId: random.uuid(), source: 'update', address };
}
