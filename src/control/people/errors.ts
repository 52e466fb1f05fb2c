/** Refusals of members, roles and groups: HTTP status, v4 code, text. */
import { defineErrors } from '../../base/errors.js';

export const peopleFailure = defineErrors('people', {
  memberMissing: { status: 404, code: 1003, text: 'No member has the identifier {id}.' },
  roleMissing: { status: 404, code: 1004, text: 'No role has the identifier {id}.' },
  permissionGroupMissing: { status: 404, code: 1004, text: 'No permission group has the identifier {id}.' },
  groupMissing: { status: 404, code: 1003, text: 'No group has the identifier {id}.' },
  connectorMissing: { status: 404, code: 1003, text: 'No SSO connector has the identifier {id}.' },
  inviteMissing: { status: 404, code: 1003, text: 'No invitation has the identifier {id}.' },
  membershipMissing: { status: 404, code: 1003, text: 'No membership has the identifier {id}.' },
  nothingAssigned: { status: 400, code: 1001, text: 'A member needs roles or policies.' },
  badAssignment: { status: 400, code: 1001, text: 'Invalid request: Invalid role assignments found' },
  badInput: { status: 400, code: 1001, text: '{reason}' },
  memberExists: { status: 400, code: 1003, text: 'Member with specified email address already exists' },
  userExists: { status: 400, code: 1003, text: 'There is a user {email} already.' },
  userMissing: { status: 404, code: 1003, text: 'There is no user {email}.' },
  lastAdministrator: { status: 400, code: 1004, text: 'The account needs a super administrator.' },
  groupUsed: { status: 400, code: 1001, text: 'Policies use the resource group {name}. Change them first.' },
  inviteOver: { status: 400, code: 1001, text: 'The invitation has expired. Ask for a new one.' },
  inviterGone: {
    status: 400,
    code: 1001,
    text: 'The invitation is no longer valid, because whoever made it could not make it any more. Ask for a new one.',
  },
  inviteSettled: { status: 400, code: 1001, text: 'The invitation was answered already.' },
  tooManyInvites: {
    status: 429,
    code: 971,
    text: 'The account has sent {most} invitations in a day; try again tomorrow.',
  },
});
