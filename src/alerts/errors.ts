/** Refusals about alerts: HTTP status, v4 code, text. The vendor's codes are not public; clients match the status. */
import { defineErrors } from '../base/errors.js';

export const alertFailure = defineErrors('alerts', {
  webhookMissing: { status: 404, code: 7003, text: 'No webhook of this account has the identifier {id}.' },
  policyMissing: { status: 404, code: 7003, text: 'No notification policy of this account has the identifier {id}.' },
  tooMany: { status: 400, code: 1006, text: 'An account may have at most {most} {things}.' },
  inUse: { status: 400, code: 1006, text: 'The notification policy {policy} uses this webhook.' },
  bad: { status: 400, code: 1004, text: '{reason}' },
  noMail: {
    status: 400,
    code: 1006,
    text: 'This server cannot send mail. The operator can set a mail server with the setting smtp.',
  },
  testsWait: { status: 429, code: 971, text: 'Other tests of this account are still running. Try again.' },
  installation: {
    status: 403,
    code: 9109,
    text: 'A policy sends events of the installation to this webhook, so only an administrator may change its address.',
  },
  notMember: { status: 400, code: 1006, text: 'Mail is sent only to members of the account; {address} is not one.' },
});

/** `pointer`: JSON pointer to the member of the request. */
export function badAlert(reason: string, pointer: string) {
  return alertFailure('bad', { reason }, { pointer });
}
