/**
 * Class CH: `version.bind`, `version.server`, `id.server` and `hostname.bind` as TXT (RFC 4892); everything else is refused.
 */
// hot
import { Class, Rcode, Type } from '../dns/codes.js';
import { putPointer } from './response.js';
import type { Engine } from './state.js';

const VERSION_BIND = wire('version', 'bind');
const VERSION_SERVER = wire('version', 'server');
const ID_SERVER = wire('id', 'server');
const HOSTNAME_BIND = wire('hostname', 'bind');

export function answerChaos(engine: Engine): void {
  const { query, response } = engine;
  let text = engine.identity;
  if (isName(engine, VERSION_BIND) || isName(engine, VERSION_SERVER)) text = engine.version;
  else if (!isName(engine, ID_SERVER) && !isName(engine, HOSTNAME_BIND)) {
    response.rcode = Rcode.refused;
    return;
  }
  if (text.length === 0) {
    response.rcode = Rcode.refused;
    return;
  }
  response.authoritative = true;
  if (query.type !== Type.txt && query.type !== Type.any) return;
  if (response.at + 13 + text.length > response.limit) {
    response.truncated = true;
    return;
  }
  const out = response.bytes;
  const at = response.base + response.at;
  putPointer(out, at, 12);
  out[at + 2] = 0;
  out[at + 3] = Type.txt;
  out[at + 4] = 0;
  out[at + 5] = Class.ch;
  // Such answers must not be cached (RFC 4892 §2).
  for (let i = 6; i < 10; i++) out[at + i] = 0;
  out[at + 10] = (text.length + 1) >>> 8;
  out[at + 11] = text.length + 1;
  out[at + 12] = text.length;
  for (let i = 0; i < text.length; i++) out[at + 13 + i] = text[i]!;
  response.at += 13 + text.length;
  response.answers = 1;
}

function isName(engine: Engine, name: Uint8Array): boolean {
  const query = engine.query;
  if (query.nameLength !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (query.name[i] !== name[i]) return false;
  return true;
}

function wire(first: string, second: string): Uint8Array {
  return new Uint8Array(
    Buffer.concat([
      Buffer.from([first.length]),
      Buffer.from(first),
      Buffer.from([second.length]),
      Buffer.from(second),
      Buffer.from([0]),
    ]),
  );
}
