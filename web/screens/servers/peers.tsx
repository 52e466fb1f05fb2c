/** The other name servers that an account knows: its secondaries and primaries. */

import { ListTable } from '../../kit/list.js';
import { useLoad, useSending } from '../../load.js';
import { Confirm } from '../../parts/confirm.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { ErrorNote, Loading } from '../../parts/notes.js';
import { Cell } from '../../parts/table.js';
import type { Peer, Tsig } from '../../types.js';
import type { PartProps } from './servers.js';

export function Peers({ base, writes }: PartProps) {
  const path = `${base}/peers`;
  const { answer, error, reload } = useLoad<Peer[]>(path);
  const keys = useLoad<Tsig[]>(`${base}/tsigs`);
  const sending = useSending(reload);
  const keyOf = ({ tsig_id: id }: Peer): string =>
    id === undefined ? 'none' : (keys.answer?.result.find((key) => key.id === id)?.name ?? id);
  const remove = (id: string): void => void sending.send('DELETE', `${path}/${id}`);
  if (error) return <ErrorNote error={error} onRetry={reload} />;
  return (
    <Panel title="Name servers">
      <p class="muted">
        Servers that copy zones from here, or from which zones are copied. They are added where they are needed: on the
        tab Transfers of a zone.
      </p>
      {!answer && <Loading what="the servers" />}
      {answer?.result.length === 0 && <p>There are none yet.</p>}
      {sending.error && <ErrorNote error={sending.error} />}
      <ListTable
        label="List of name servers"
        columns={['Name', 'Address', 'Key', 'Over TLS']}
        actions={writes}
        items={answer?.result ?? []}
        keyOf={({ id }) => id}
        row={(peer) => (
          <tr>
            <th scope="row">{peer.name}</th>
            <td class="mono">{peer.ip === undefined ? '–' : `${peer.ip} port ${peer.port}`}</td>
            <Cell class="muted long" name="Key" value={keyOf(peer)} />
            <Cell
              class="muted"
              name="Over TLS"
              value={peer.tls_name ?? (peer.tls_pin === undefined ? 'no' : 'by the hash of its key')}
            />
            {writes && (
              <td class="row-actions">
                <Confirm what={peer.name} busy={sending.busy} quiet onConfirm={() => remove(peer.id)} />
              </td>
            )}
          </tr>
        )}
      />
      <Curl
        request={{ method: 'GET', path }}
        {...(writes && { others: { 'Delete one': { method: 'DELETE', path: `${path}/PEER` } } })}
      />
    </Panel>
  );
}
