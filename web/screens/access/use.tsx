/** How much an account has of what all share, and how much it may have. */

import { ListTable } from '../../kit/list.js';
import { useLoad } from '../../load.js';
import { count } from '../../parts/count.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote } from '../../parts/notes.js';
import { Cell } from '../../parts/table.js';
import type { Account, Quotas } from '../../types.js';

type Kind = keyof Quotas;

const WORDS: Readonly<Record<Kind, string>> = {
  zones: 'Zones',
  records: 'Records in all zones',
  records_per_file: 'Records of one zone file',
  hostnames: 'Custom hostnames',
  tokens: 'Tokens',
  members: 'Members',
  lists: 'Peers, TSIG keys, networks and catalogs',
  buckets: 'Buckets',
  objects: 'Objects',
  balancing: 'Monitors, pools and load balancers',
  rules: 'Octets of rules of zones',
  octets: 'Octets of objects',
};

/** The part of a quota from which on it is nearly used up. */
const MUCH = 0.9;

export function Use({ account }: { readonly account: Account }) {
  const path = `/accounts/${account.id}/quotas`;
  const { answer, error, reload } = useLoad<Quotas>(path);
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  if (!answer) return null;
  const quotas = answer.result;
  const kinds = (Object.keys(WORDS) as Kind[]).filter((kind) => quotas[kind] !== undefined);
  const isLimited = kinds.some((kind) => quotas[kind].most !== null);
  return (
    <Panel title={`Use and quotas of ${account.name}`}>
      <p class="muted">
        {isLimited
          ? 'An administrator of this server can raise a quota.'
          : 'The account is alone on this server, and has no quotas.'}
      </p>
      <ListTable
        label="Use and quotas"
        columns={['What', 'In use', 'At most', 'State']}
        numbers={['In use', 'At most']}
        items={kinds}
        keyOf={(kind) => kind}
        row={(kind) => <Row what={WORDS[kind]} quota={quotas[kind]} />}
      />
      <Curl request={{ method: 'GET', path }} />
    </Panel>
  );
}

function Row({ what, quota: { used, most, own } }: { readonly what: string; readonly quota: Quotas[Kind] }) {
  return (
    <tr>
      <th scope="row">{what}</th>
      <Cell class="number" name="In use" value={used === null ? '–' : count(used)} />
      <td class="number" data-name="At most">
        {most === null ? 'no limit' : count(most)}
        {own && <span class="muted"> its own</span>}
      </td>
      <Cell value={<State used={used} most={most} />} />
    </tr>
  );
}

function State({ used, most }: Pick<Quotas[Kind], 'used' | 'most'>) {
  if (used === null || most === null) return <span class="muted">–</span>;
  if (used >= most) return <span class="chip bad">Used up</span>;
  return used >= most * MUCH ? <span class="chip wait">Nearly used up</span> : <span class="chip good">Enough</span>;
}
