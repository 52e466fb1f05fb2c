/** Chooses zones of an account, found by part of their names. */
import { useState } from 'preact/hooks';
import { pathWith } from '../../../api.js';
import { Checks, type Named } from '../../../kit/checks.js';
import { TextField } from '../../../kit/form.js';
import { useLoad } from '../../../load.js';
import type { Zone } from '../../../types.js';

interface ZoneChoiceProps {
  readonly account: string;
  readonly chosen: readonly Named[];
  readonly onChange: (chosen: readonly Named[]) => void;
}

const MOST_OFFERED = 20;

export function ZoneChoice({ account, chosen, onChange }: ZoneChoiceProps) {
  const [name, setName] = useState('');
  const part = name.trim();
  const query = { 'account.id': account, name: part && `contains:${part}`, per_page: MOST_OFFERED, order: 'name' };
  const { answer } = useLoad<Zone[]>(pathWith('/zones', query));
  const others = (answer?.result ?? []).filter((zone) => !chosen.some(({ id }) => id === zone.id));
  const hasMore = (answer?.info?.total_count ?? 0) > MOST_OFFERED;
  return (
    <>
      {(hasMore || part !== '') && (
        <TextField label="Find zones" value={name} placeholder="example.com" spellcheck={false} onChange={setName} />
      )}
      {answer && chosen.length + others.length === 0 && <p class="muted">No zone matches.</p>}
      <Checks legend="Zones" items={[...chosen, ...others]} chosen={chosen} onChange={onChange} />
    </>
  );
}
