/**
 * Dynamic updates in the DNS process: it checks signatures, so that only updates of keys reach the admin process, and hands
 * them on.
 */
import { messageOf } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import type { MetricSample } from '../../base/metrics.js';
import { sampleReports } from '../../base/sample-reports.js';
import { Rcode } from '../../dns/codes.js';
import { toFqdn } from '../../dns/name.js';
import { TsigError } from '../../dns/tsig.js';
import { nowSeconds } from '../keys.js';
import { replyTo, replyToBadSignature, signReply } from '../reply.js';
import { type SignatureOptions, verifySigned } from '../signed-query.js';
import { createUpdateAdmission } from './admission.js';
import { createPace } from './pace.js';

export interface ForwarderOptions extends SignatureOptions {
  /** Has the admin process answer; `away`: it cannot be asked; `unknown`: whatever was done, no answer came. Never rejects. */
  readonly relay: (request: Uint8Array, address: string) => Promise<Uint8Array | 'away' | 'unknown'>;
  readonly log: Logger;
}

export interface Forwarder {
  /** Answers an update; undefined: there must be no answer. Never throws or rejects. */
  answer(request: Uint8Array, address: string): Promise<Uint8Array | undefined>;
  samples(): MetricSample[];
}

const ERRORS: Readonly<Record<number, string>> = {
  [TsigError.badSig]: 'BADSIG',
  [TsigError.badKey]: 'BADKEY',
  [TsigError.badTime]: 'BADTIME',
  [TsigError.badTrunc]: 'BADTRUNC',
};

export function createForwarder(options: ForwarderOptions): Forwarder {
  const { relay, log, clock } = options;
  const logged = createPace(1, 10, clock);
  const admission = createUpdateAdmission(clock);
  const counts = new Map<string, number>();

  const forward = async (request: Uint8Array, address: string): Promise<Uint8Array | undefined> => {
    const signed = verifySigned(options, request, admission.mayCheck);
    if (!signed || signed instanceof Uint8Array) return signed;
    const { head, tsig, checked, zone } = signed;
    if (checked.error !== TsigError.none) {
      const error = ERRORS[Number(checked.error)] ?? 'FORMERR';
      counts.set(error, (counts.get(error) ?? 0) + 1);
      if (logged.take('')) {
        const times = { theirs: tsig.time, ours: nowSeconds(clock) };
        const line = { zone: toFqdn(head.question.name), address, keyName: toFqdn(tsig.keyName), error, ...times };
        log.warn(line, 'a dynamic update was refused: its signature is not accepted');
      }
      return replyToBadSignature(head, tsig, checked, clock);
    }
    const key = checked.key!;
    const refuse = (rcode: number): Uint8Array => signReply(replyTo(head, rcode), { key, tsig }, clock);
    const leave = await admission.enter(zone!.account, key.seq);
    if (typeof leave === 'string') {
      if (logged.take('')) {
        const line = { zone: toFqdn(head.question.name), address, keyName: toFqdn(tsig.keyName), reason: leave };
        log.warn(line, 'a dynamic update was refused: its key, or the account of the key, sends too many');
      }
      return refuse(leave === 'pace' ? Rcode.refused : Rcode.servFail);
    }
    // Never rejects.
    const answer = await relay(request, address);
    leave(answer !== 'away');
    if (answer === 'unknown') return undefined;
    return answer === 'away' ? refuse(Rcode.servFail) : answer;
  };

  const admit = sampleReports();
  return {
    async answer(request, address) {
      try {
        return await forward(request, address);
      } catch (error) {
        // After a start, the keys of secrets are not there at once: without an answer the client asks again.
        const seen = admit();
        if (seen !== undefined) log.warn({ error: messageOf(error), seen }, 'a dynamic update was not answered');
        return undefined;
      }
    },
    samples: () => [
      ...admission.samples(),
      ...[...counts].map(
        ([error, value]): MetricSample => ({
          name: 'update_signature_errors_total',
          type: 'counter',
          help: 'Dynamic updates whose signature was not accepted, by the error of TSIG',
          labels: { error },
          value,
        }),
      ),
    ],
  };
}
