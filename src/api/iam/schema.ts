/** Shapes of resource groups and user groups on the wire (npm `cloudflare`: `iam`). */
import { z } from 'zod';
import { accountParams } from '../accounts/schema.js';
import { listOf } from '../body-schema.js';
import { memberPolicy, policyInput } from '../members/schema.js';
import { direction, pageQuery, time } from '../schema.js';

const idText = (what: string) => z.string().max(64).describe(`Identifier of the ${what}`);

export const permissionGroupParams = accountParams.extend({ permission_group_id: idText('permission group') });
export const resourceGroupParams = accountParams.extend({ resource_group_id: idText('resource group') });
export const userGroupParams = accountParams.extend({ user_group_id: idText('user group') });
export const groupMemberParams = userGroupParams.extend({ member_id: idText('member') });

export const permissionGroupQuery = z.object({
  id: z.string().optional(),
  name: z.string().optional(),
  label: z.string().optional(),
  ...pageQuery,
});

export const resourceGroupQuery = z.object({ id: z.string().optional(), name: z.string().optional() });

const scope = z.object({
  key: z.string().max(100),
  objects: listOf(z.object({ key: z.string().max(100) }), 1, 1000, 'zones'),
});

const SCOPE = {
  key: 'com.cloudflare.api.account.023e105f4ecef8ad9ca31a8372d0c353',
  objects: [{ key: 'com.cloudflare.api.account.zone.023e105f4ecef8ad9ca31a8372d0c353' }],
};

export const resourceGroupBody = z
  .object({ name: z.string(), scope })
  .meta({ id: 'ResourceGroupBody', examples: [{ name: 'Shops', scope: SCOPE }] });

export const resourceGroupChange = z
  .object({ name: z.string().optional(), scope: scope.optional() })
  .meta({ id: 'ResourceGroupChange', examples: [{ name: 'Shops', scope: SCOPE }] });

export const userGroup = z
  .object({ id: z.string(), name: z.string(), created_on: time, modified_on: time, policies: z.array(memberPolicy) })
  .meta({ id: 'UserGroup' });

export type UserGroupView = z.output<typeof userGroup>;

export const userGroupQuery = z.object({
  id: z.string().optional(),
  name: z.string().optional(),
  fuzzyName: z.string().optional().describe('Part of the name'),
  direction,
  ...pageQuery,
});

const policies = listOf(policyInput, 0, 1000, 'policies');

export const userGroupBody = z
  .object({ name: z.string(), policies: policies.optional() })
  .meta({ id: 'UserGroupBody', examples: [{ name: 'Editors', policies: [] }] });

export const userGroupChange = z
  .object({ name: z.string().optional(), policies: policies.optional() })
  .meta({ id: 'UserGroupChange', examples: [{ name: 'Editors' }] });

export const groupMembersBody = listOf(z.object({ id: z.string().max(64) }), 0, 1000, 'members');

const groupMember = { id: z.string(), email: z.string(), status: z.enum(['accepted', 'pending']) };

export const groupMemberListed = z.object(groupMember).meta({ id: 'GroupMember' });
export type GroupMemberView = z.output<typeof groupMemberListed>;

export const groupMemberShown = z.object({ ...groupMember, created_at: time }).meta({ id: 'GroupMemberDetails' });

export const groupMemberQuery = z.object({
  fuzzyEmail: z.string().optional().describe('Part of the address'),
  direction,
  ...pageQuery,
});
