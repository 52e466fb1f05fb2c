/** The roles that groups of a provider have in accounts. */

import { useState } from 'preact/hooks';
import { Button } from '../../../kit/button.js';
import { ChoiceField, TextField } from '../../../kit/form.js';
import { useLoad } from '../../../load.js';
import { ACCOUNTS } from '../../../parts/account.js';
import { RowButton } from '../../../parts/row-button.js';
import type { Account, Provider, Role } from '../../../types.js';

type Entry = Provider['group_map'][number];

interface GroupMapProps {
  readonly map: readonly Entry[];
  readonly onChange: (map: Entry[]) => void;
}

export function GroupMap({ map, onChange }: GroupMapProps) {
  const accounts = useLoad<Account[]>(ACCOUNTS).answer?.result ?? [];
  const [first] = accounts;
  const roles = useLoad<Role[]>(first && `/accounts/${first.id}/roles?per_page=50`).answer?.result ?? [];
  const [group, setGroup] = useState('');
  const [account, setAccount] = useState('');
  const [role, setRole] = useState('');
  const inWords = (entry: Entry): string =>
    `${entry.group}: ${roles.find(({ id }) => id === entry.role)?.name ?? entry.role} in ${
      accounts.find(({ id }) => id === entry.account)?.name ?? entry.account
    }`;
  const added = { group: group.trim(), account: account || (first?.id ?? ''), role: role || (roles[0]?.id ?? '') };
  const isReady = added.group !== '' && added.account !== '' && added.role !== '';
  return (
    <fieldset class="part">
      <legend>Groups and their roles</legend>
      <ul class="policies">
        {map.map((entry, index) => (
          <li key={index}>
            {inWords(entry)}{' '}
            <RowButton
              verb="Remove"
              what={inWords(entry)}
              onClick={() => onChange(map.filter((_, other) => other !== index))}
            />
          </li>
        ))}
      </ul>
      <TextField label="Group" hint="As the provider calls it." value={group} onChange={setGroup} />
      <ChoiceField
        label="In the account"
        value={added.account}
        choices={accounts.map(({ id, name }) => [id, name] as const)}
        onChange={setAccount}
      />
      <ChoiceField
        label="Role"
        value={added.role}
        choices={roles.map(({ id, name }) => [id, name] as const)}
        onChange={setRole}
      />
      <Button
        disabled={!isReady}
        onClick={() => {
          onChange([...map, added]);
          setGroup('');
        }}
        text="Add the group"
      />
    </fieldset>
  );
}
