/** A list of policies, and the form that adds one: what is allowed or denied, and where. */

import { useState } from 'preact/hooks';
import { Button } from '../../../kit/button.js';
import { Checks, type Named } from '../../../kit/checks.js';
import { ChoiceField } from '../../../kit/form.js';
import { useLoad } from '../../../load.js';
import { RowButton } from '../../../parts/row-button.js';
import type { PermissionGroupOfMembers, ResourceGroup } from '../../../types.js';
import { type Place, type PolicyDraft, policyInWords } from './policy.js';
import { ZoneChoice } from './zone-choice.js';

interface PoliciesProps {
  readonly account: string;
  readonly policies: readonly PolicyDraft[];
  readonly onChange: (policies: readonly PolicyDraft[]) => void;
}

const EMPTY: PolicyDraft = { access: 'allow', roles: [], place: { kind: 'zones', zones: [] } };

export function Policies({ account, policies, onChange }: PoliciesProps) {
  const [draft, setDraft] = useState(EMPTY);
  const { place, roles } = draft;
  const isReady =
    roles.length > 0 &&
    (place.kind === 'everything' || (place.kind === 'zones' ? place.zones : place.groups).length > 0);
  return (
    <>
      {policies.length > 0 && (
        <ul class="policies" aria-label="Policies">
          {policies.map((policy, index) => (
            <li key={index}>
              {policyInWords(policy)}{' '}
              <RowButton
                verb="Remove"
                what={policyInWords(policy)}
                onClick={() => onChange(policies.filter((_, other) => other !== index))}
              />
            </li>
          ))}
        </ul>
      )}
      <fieldset class="part">
        <legend>{policies.length === 0 ? 'A policy' : 'Another policy'}</legend>
        <ChoiceField
          label="What it does"
          narrow
          value={draft.access}
          choices={[
            ['allow', 'It allows'],
            ['deny', 'It denies, even if others allow'],
          ]}
          onChange={(access) => setDraft({ ...draft, access: access as 'allow' | 'deny' })}
        />
        <RoleChoice account={account} chosen={roles} onChange={(next) => setDraft({ ...draft, roles: next })} />
        <PlaceChoice account={account} place={place} onChange={(next) => setDraft({ ...draft, place: next })} />
        <Button
          disabled={!isReady}
          onClick={() => {
            onChange([...policies, draft]);
            setDraft(EMPTY);
          }}
          text="Add the policy"
        />
      </fieldset>
    </>
  );
}

interface ChoiceProps {
  readonly account: string;
  readonly chosen: readonly Named[];
  readonly onChange: (chosen: readonly Named[]) => void;
}

function RoleChoice({ account, chosen, onChange }: ChoiceProps) {
  const { answer } = useLoad<PermissionGroupOfMembers[]>(`/accounts/${account}/iam/permission_groups?per_page=50`);
  const items = answer?.result ?? [];
  return (
    <Checks legend="Roles" items={items} chosen={chosen} onChange={onChange} hintOf={({ meta }) => meta.description} />
  );
}

interface PlaceChoiceProps {
  readonly account: string;
  readonly place: Place;
  readonly onChange: (place: Place) => void;
}

const PLACES = { zones: 'In certain zones', groups: 'In groups of zones', everything: 'In everything' } as const;

function PlaceChoice({ account, place, onChange }: PlaceChoiceProps) {
  const change = (kind: string): void => {
    if (kind === 'everything') onChange({ kind });
    else onChange(kind === 'zones' ? { kind, zones: [] } : { kind: 'groups', groups: [] });
  };
  return (
    <>
      <ChoiceField label="Where" narrow value={place.kind} choices={Object.entries(PLACES)} onChange={change} />
      {place.kind === 'zones' && (
        <ZoneChoice account={account} chosen={place.zones} onChange={(zones) => onChange({ kind: 'zones', zones })} />
      )}
      {place.kind === 'groups' && (
        <GroupChoice
          account={account}
          chosen={place.groups}
          onChange={(groups) => onChange({ kind: 'groups', groups })}
        />
      )}
    </>
  );
}

function GroupChoice({ account, chosen, onChange }: ChoiceProps) {
  const { answer } = useLoad<ResourceGroup[]>(`/accounts/${account}/iam/resource_groups`);
  const items = answer?.result ?? [];
  if (answer && items.length === 0) return <p class="muted">There are none yet.</p>;
  return <Checks legend="Groups of zones" items={items} chosen={chosen} onChange={onChange} />;
}
