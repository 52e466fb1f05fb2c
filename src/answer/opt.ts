/** The OPT record of an answer (RFC 6891 §6.1) with the options that go with it. */
// hot
import { Ede, EdnsOption, Rcode } from '../dns/codes.js';
import type { Engine } from './state.js';

const OPT_HEADER = 11;
const EDE_LENGTH = 6;

/** Octets to keep free for OPT while sections are written. EDE only goes with answers that are short anyway. */
export function optLength(engine: Engine): number {
  const { query, identity } = engine;
  return OPT_HEADER + (query.wantsNsid && identity.length > 0 ? 4 + identity.length : 0);
}

export function writeOpt(engine: Engine): void {
  const { query, response, settings, identity } = engine;
  const out = response.bytes;
  const start = response.base + response.at;
  if (response.at + optLength(engine) > response.limit) return;
  let at = start + OPT_HEADER;
  out[start] = 0;
  out[start + 1] = 0;
  out[start + 2] = 41;
  out[start + 3] = settings.udpSize >>> 8;
  out[start + 4] = settings.udpSize;
  out[start + 5] = response.rcode >>> 4;
  out[start + 6] = 0;
  // DO is copied (RFC 3225 §3), all other flags are clear.
  out[start + 7] = query.dnssecOk ? 0x80 : 0;
  out[start + 8] = 0;
  if (response.rcode !== Rcode.badVers) {
    if (query.wantsNsid && identity.length > 0) {
      at = putOption(out, at, EdnsOption.nsid, identity.length);
      for (let i = 0; i < identity.length; i++) out[at++] = identity[i]!;
    }
    if (engine.notAuthoritative && at + EDE_LENGTH - response.base <= response.limit) {
      at = putOption(out, at, EdnsOption.ede, 2);
      out[at++] = 0;
      out[at++] = Ede.notAuthoritative;
    }
  }
  const length = at - start - OPT_HEADER;
  out[start + 9] = length >>> 8;
  out[start + 10] = length;
  response.at = at - response.base;
  response.additionals++;
}

function putOption(out: Uint8Array, at: number, code: number, length: number): number {
  out[at] = code >>> 8;
  out[at + 1] = code;
  out[at + 2] = length >>> 8;
  out[at + 3] = length;
  return at + 4;
}
