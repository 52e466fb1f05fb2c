/** What is wrong with answers of peers, in words. */
import { RCODE_MNEMONICS } from '../dns/codes.js';
import { isOfKey, type Signed, TsigError, type TsigKey, type TsigRecord, verifyMessage } from '../dns/tsig.js';

/** Why the signature of an answer is not accepted; undefined when it is. `seconds`: now, since 1970. */
export function signatureFault(
  answer: Uint8Array,
  tsig: TsigRecord | 'none' | 'malformed',
  key: TsigKey,
  seconds: number,
  signed: Signed,
): string | undefined {
  if (tsig === 'none' || tsig === 'malformed') return 'its answer is not signed';
  if (tsig.error === TsigError.badKey) return 'it does not know the key';
  if (tsig.error === TsigError.badSig) return 'it has another secret for the key';
  if (tsig.error === TsigError.badTime) return 'its clock is different';
  if (!isOfKey(tsig, key)) return 'it signed its answer with another key';
  const error = verifyMessage(answer, tsig, key, seconds, signed);
  if (error === TsigError.badTime) {
    return `its clock is different: it says ${instant(tsig.time)}, here it is ${instant(seconds)}`;
  }
  return error === TsigError.none ? undefined : 'the signature of its answer is wrong';
}

function instant(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString();
}

export function rcodeText(rcode: number): string {
  return RCODE_MNEMONICS[rcode] ?? `RCODE ${rcode}`;
}
