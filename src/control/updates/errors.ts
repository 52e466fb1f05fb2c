/** Refusals of dynamic updates; transfer/update/rcodes.ts gives the response codes (RFC 2136 §2.2). */
import { defineErrors } from '../../base/errors.js';

export const updateFailure = defineErrors('updates', {
  malformed: { status: 400, code: 1004, text: '{reason}' },
  outsideZone: { status: 400, code: 1004, text: '{name} is not in the zone {zone}' },
  notAuthoritative: { status: 400, code: 1004, text: '{reason}' },
  nameExists: { status: 412, code: 1004, text: 'prerequisite: {name} exists' },
  nameMissing: { status: 412, code: 1004, text: 'prerequisite: {name} does not exist' },
  setExists: { status: 412, code: 1004, text: 'prerequisite: {name} has {type} records' },
  setMissing: { status: 412, code: 1004, text: 'prerequisite: {name} does not have these {type} records' },
  noPolicy: { status: 403, code: 10000, text: 'the key may not update {name} {type}' },
  proxied: { status: 400, code: 1004, text: '{name} is proxied: its addresses are changed by API only' },
  notHere: { status: 400, code: 1004, text: '{type} records are made by the service' },
  unusable: { status: 400, code: 1004, text: '{name} {type}: {reason}' },
});
