/** Questions as resolvers ask them. */
import { Class, EdnsOption, Type } from '../dns/codes.js';

/** An OPT record without options. */
const OPT_OCTETS = 11;
const OPTION_HEADER = 4;
/** What resolvers usually take over UDP. It does not matter over a stream. */
const PAYLOAD = 1232;

/** The question of a resolver. `dnssecOk`: signatures and proofs are wanted. */
export function makeQuery(
  name: Uint8Array,
  type: number,
  dnssecOk: boolean,
  clientSubnet: Uint8Array | undefined,
): Uint8Array<ArrayBuffer> {
  const end = 16 + name.length;
  const options = clientSubnet === undefined ? 0 : OPTION_HEADER + clientSubnet.length;
  const octets = new Uint8Array(end + OPT_OCTETS + options);
  const view = new DataView(octets.buffer);
  view.setUint16(4, 1);
  view.setUint16(10, 1);
  octets.set(name, 12);
  view.setUint16(end - 4, type);
  view.setUint16(end - 2, Class.in);
  view.setUint16(end + 1, Type.opt);
  view.setUint16(end + 3, PAYLOAD);
  // The flags are DO alone (RFC 3225 §3).
  view.setUint16(end + 7, dnssecOk ? 0x8000 : 0);
  view.setUint16(end + 9, options);
  if (clientSubnet) {
    view.setUint16(end + OPT_OCTETS, EdnsOption.clientSubnet);
    view.setUint16(end + OPT_OCTETS + 2, clientSubnet.length);
    octets.set(clientSubnet, end + OPT_OCTETS + OPTION_HEADER);
  }
  return octets;
}
