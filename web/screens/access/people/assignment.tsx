/** What a member may do: roles in the whole account, or policies for certain zones. */
import { call } from '../../../api.js';
import { Checks, type Named } from '../../../kit/checks.js';
import { useLoad } from '../../../load.js';
import type { Member, Role } from '../../../types.js';
import { Policies } from './policies.js';
import { draftOf, type PolicyDraft, policiesOf, policyInWords } from './policy.js';

export interface Assignment {
  readonly kind: 'roles' | 'policies';
  readonly roles: readonly Named[];
  readonly policies: readonly PolicyDraft[];
}

export const UNASSIGNED: Assignment = { kind: 'roles', roles: [], policies: [] };

export function assignmentOf({ roles, policies }: Member): Assignment {
  return { kind: policies.length > 0 ? 'policies' : 'roles', roles, policies: policies.map(draftOf) };
}

export function isAssigned({ kind, roles, policies }: Assignment): boolean {
  return (kind === 'roles' ? roles : policies).length > 0;
}

/** The body of the request; creates missing groups of zones. */
export async function bodyOf(account: string, { kind, roles, policies }: Assignment): Promise<object> {
  if (kind === 'roles') return { roles: roles.map(({ id }) => ({ id })) };
  return { policies: await policiesOf(account, policies) };
}

export function assignmentInWords({ roles, policies }: Member): string {
  if (policies.length === 0) return roles.map(({ name }) => name).join(', ');
  return policies.map((policy) => policyInWords(draftOf(policy))).join('; ');
}

interface AssignmentFieldsProps {
  readonly account: string;
  readonly value: Assignment;
  readonly onChange: (value: Assignment) => void;
}

const KINDS = { roles: 'In the whole account', policies: 'In certain zones' } as const;

export function AssignmentFields({ account, value, onChange }: AssignmentFieldsProps) {
  const { kind, roles, policies } = value;
  const { answer } = useLoad<Role[]>(`/accounts/${account}/roles?per_page=50`);
  return (
    <>
      <fieldset class="segments">
        <legend>Access</legend>
        {(Object.keys(KINDS) as (keyof typeof KINDS)[]).map((one) => (
          <label key={one}>
            <input type="radio" name="kind" checked={kind === one} onChange={() => onChange({ ...value, kind: one })} />
            <span>{KINDS[one]}</span>
          </label>
        ))}
      </fieldset>
      {kind === 'roles' && (
        <Checks
          legend="Roles"
          items={answer?.result ?? []}
          chosen={roles}
          onChange={(next) => onChange({ ...value, roles: next })}
          hintOf={({ description }) => description}
        />
      )}
      {kind === 'policies' && (
        <Policies account={account} policies={policies} onChange={(next) => onChange({ ...value, policies: next })} />
      )}
    </>
  );
}

/** Replaces what a member may do. */
export async function sendAssignment(account: string, member: string, value: Assignment): Promise<void> {
  await call('PUT', `/accounts/${account}/members/${member}`, { body: await bodyOf(account, value) });
}
