/** Refusals of accounts and credentials: HTTP status, v4 code, text (v4: §15). */
import { defineErrors } from '../../base/errors.js';

export const accountFailure = defineErrors('accounts', {
  missing: { status: 404, code: 7003, text: 'No account has the identifier {id}.' },
  foreign: { status: 403, code: 9109, text: 'Unauthorized to access requested resource' },
  none: { status: 403, code: 9109, text: 'This credential belongs to no account.' },
  notAllowed: { status: 403, code: 1002, text: 'Only a super administrator may do this.' },
  readOnly: { status: 403, code: 10000, text: 'Authentication error' },
  outOfScope: { status: 403, code: 10000, text: 'Authentication error' },
  inUse: { status: 400, code: 9207, text: 'The account {name} still has {what}.' },
  lastAccount: { status: 400, code: 9207, text: 'The account {name} is the only one.' },
  badInput: { status: 400, code: 9207, text: '{reason}' },
  keyMissing: { status: 404, code: 7003, text: 'No credential has the identifier {id}.' },
  sessionMissing: { status: 404, code: 7003, text: 'No session has the identifier {id}.' },
  noSession: { status: 400, code: 9207, text: 'This request was not made by a session.' },
  linkUsed: { status: 403, code: 9109, text: 'This sign-in link was used already.' },
  noAdministrator: { status: 400, code: 9207, text: 'No active credential of {who} has all permissions.' },
  usersOfOthers: {
    status: 403,
    code: 1405,
    text: 'The account has made {own} users, and others leave no more. An administrator of the installation may add users.',
  },
  keyExists: { status: 400, code: 9207, text: 'That secret is in use already.' },
});
