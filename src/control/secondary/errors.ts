/** Refusals of secondary DNS: HTTP status, v4 code, text. The vendor's codes are not public; clients match the status. */
import { defineErrors } from '../../base/errors.js';

export const secondaryFailure = defineErrors('secondary', {
  keyMissing: { status: 404, code: 7003, text: 'No TSIG key of this account has the identifier {id}.' },
  aclMissing: { status: 404, code: 7003, text: 'No ACL of this account has the identifier {id}.' },
  peerMissing: { status: 404, code: 7003, text: 'No peer of this account has the identifier {id}.' },
  catalogMissing: { status: 404, code: 7003, text: 'No catalog of this account has the identifier {id}.' },
  memberMissing: { status: 404, code: 7003, text: 'No zone of the catalog has the identifier {id}.' },
  removedMissing: { status: 404, code: 7003, text: 'No zone with the identifier {id} has left a catalog.' },
  nothingHeld: { status: 400, code: 1006, text: 'No zones of this catalog wait to be removed.' },
  outgoingMissing: { status: 404, code: 7003, text: '{zone} is not transferred to any peers.' },
  outgoingExists: { status: 400, code: 1061, text: '{zone} has peers already. Change them with PUT.' },
  compactDenial: {
    status: 400,
    code: 1006,
    text: '{zone} proves absence by compact denial, for which its peers would need its keys. Let absence be proven by nsec or nsec3 first (PATCH /zones/…/dnssec).',
  },
  incomingMissing: { status: 404, code: 7003, text: '{zone} is not transferred from any peers.' },
  incomingExists: { status: 400, code: 1061, text: '{zone} has primaries already. Change them with PUT.' },
  notSecondary: {
    status: 400,
    code: 1006,
    text: '{zone} is not a secondary zone; only such zones are transferred here.',
  },
  peerWithoutAddress: {
    status: 400,
    code: 1006,
    text: 'The peer {peer} has no ip, so no zone can be transferred from it.',
  },
  peerRefused: {
    status: 400,
    code: 1006,
    text: 'No zones are transferred with {ip} port {port}: it is not a public address. The operator of the server can allow its network for transfers (allow-networks).',
  },
  peerNotAllowed: { status: 400, code: 1006, text: 'No zones are transferred with that address: {reason}.' },
  primaryInUse: { status: 400, code: 1006, text: 'The zone {zone} is transferred from this peer.' },
  keyExists: { status: 400, code: 1061, text: 'The account has a TSIG key named {name} already.' },
  keyInUse: { status: 400, code: 1006, text: 'The peer {peer} uses this TSIG key.' },
  peerInUse: { status: 400, code: 1006, text: 'The zone {zone} is transferred to this peer.' },
  mixedKeys: {
    status: 400,
    code: 1006,
    text: 'The peers of {zone} use different TSIG keys; all peers of a zone use the same one.',
  },
  wrongName: { status: 400, code: 1004, text: 'The name of the zone is {zone}, not {name}.' },
  tooMany: { status: 400, code: 1006, text: 'An account has at most {most} {things}.' },
});
