/** Refusals of load balancing: HTTP status, v4 code, text. */
import { type AppError, defineErrors } from '../../base/errors.js';

export const balancingFailure = defineErrors('balancing', {
  invalid: { status: 400, code: 1002, text: '{reason}: validation failed' },
  monitorMissing: { status: 404, code: 1001, text: 'monitor not found' },
  groupMissing: { status: 404, code: 1001, text: 'monitor group not found' },
  poolMissing: { status: 404, code: 1001, text: 'pool not found' },
  balancerMissing: { status: 404, code: 1001, text: 'load balancer not found' },
  previewMissing: { status: 404, code: 1001, text: 'preview not found' },
  regionMissing: { status: 404, code: 1001, text: 'region not found' },
  referenced: { status: 412, code: 1005, text: 'Object referenced by other objects: {names}' },
  stale: { status: 412, code: 1116, text: 'The object was changed meanwhile; its entity tag is now {tag}.' },
  quota: { status: 403, code: 1004, text: 'exceeded quota: {reason}' },
  noAccountBalancers: { status: 403, code: 1002, text: 'account load balancers are not available here' },
  severalAccounts: {
    status: 400,
    code: 1002,
    text: 'the credential belongs to {count} accounts: use /accounts/{account_id}/load_balancers: validation failed',
  },
});

/** `pointer`: to the member that is wrong. */
export function invalid(reason: string, pointer: string): AppError {
  return balancingFailure('invalid', { reason }, { pointer });
}
