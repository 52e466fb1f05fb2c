/** The nodes of a cluster: who follows, who is behind or gone. Nothing at all on one machine. */
import { useState } from 'preact/hooks';
import { type Loaded, useLoad } from '../../load.js';
import { count } from '../../parts/count.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { Cell, Columns, TableFrame } from '../../parts/table.js';
import { Time } from '../../parts/time.js';
import type { Cluster } from '../../types.js';

const PATH = '/cluster';
const REFRESH_MS = 5000;

type Node = Cluster['nodes'][number];

/** What is known of the cluster, for those who may see it. */
export function useCluster(mayRead: boolean): Loaded<Cluster> {
  const [everyMs, setEveryMs] = useState<number>();
  const loaded = useLoad<Cluster>(mayRead ? PATH : undefined, everyMs === undefined ? {} : { everyMs });
  // One machine stays one until the program starts anew: it is not asked again.
  if (everyMs === undefined && loaded.answer && loaded.answer.result.id !== null) setEveryMs(REFRESH_MS);
  return loaded;
}

export function Nodes({ answer, error }: Pick<Loaded<Cluster>, 'answer' | 'error'>) {
  if (!answer || answer.result.id === null) return null;
  const cluster = answer.result;
  const bad = cluster.nodes.filter(({ state }) => state !== 'follows');
  const good = bad.length === 0 && cluster.state === 'following' && !error;
  return (
    <Panel
      title="Nodes"
      aside={<span class={`chip ${good ? 'good' : 'wait'}`}>{good ? 'All follow' : 'Needs a look'}</span>}
    >
      {error && <p class="problem">This list is old: {error.message}</p>}
      {cluster.state !== 'following' && <p class="problem">{ownState(cluster)}</p>}
      <TableFrame label="List of nodes" class="stacked">
        <Columns names={['Node', 'State', 'Does', 'Lacks', 'Version', 'Schema', 'Last report']} numbers={['Lacks']} />
        <tbody>
          {cluster.nodes.map((node) => (
            <Row key={node.name} node={node} isThis={node.name === cluster.node} />
          ))}
        </tbody>
      </TableFrame>
      <p class="hint">{snapshotInWords(cluster)}</p>
      <Curl request={{ method: 'GET', path: PATH }} />
    </Panel>
  );
}

function ownState({ state, reason }: Cluster): string {
  const why = reason === undefined ? '' : ` ${reason.charAt(0).toUpperCase()}${reason.slice(1)}`;
  if (state === 'away') {
    return `PostgreSQL cannot be reached from this node. It answers and shows what it has; changes wait until it is back.${why}`;
  }
  return `This node has stopped following the others. It answers with what it has, and takes no changes.${why}`;
}

const STATES: Readonly<Record<Node['state'], readonly [word: string, tone: string]>> = {
  follows: ['Follows', 'good'],
  behind: ['Behind', 'wait'],
  stopped: ['Stopped', 'bad'],
  gone: ['Gone', 'bad'],
};

/** What is wrong, and what follows from it. */
function inWords({ state, lag_entries: lag, reason }: Node): string | undefined {
  if (state === 'behind') return `It lacks ${count(lag)} changes and may answer with older records until it has them.`;
  if (state === 'stopped') return `It serves its copy and cannot apply the next change: ${reason ?? 'see its log'}`;
  if (state === 'gone') {
    return 'It has not reported for 15 seconds or more: it is off, or cannot reach PostgreSQL. Start it, or look at its network.';
  }
  return undefined;
}

const ROLES: Readonly<Record<string, string>> = { all: 'Everything', dns: 'DNS', edge: 'The edge' };

function Row({ node, isThis }: { readonly node: Node; readonly isThis: boolean }) {
  const [word, tone] = STATES[node.state];
  const explained = inWords(node);
  return (
    <tr>
      <th scope="row">
        {node.name} {isThis && <span class="chip">This one</span>}
      </th>
      <td class="long">
        <span class={`chip ${tone}`}>{word}</span>
        {explained !== undefined && <div class="small">{explained}</div>}
      </td>
      <td data-name="Does">{ROLES[node.role] ?? node.role}</td>
      <Cell class="number" name="Lacks" value={node.lag_entries === 0 ? 'nothing' : count(node.lag_entries)} />
      <Cell class="muted" name="Version" value={node.version} />
      <Cell class="muted" name="Schema" value={node.schema} />
      <Cell class="muted nowrap" name="Last report" value={ago(node.seconds_since_report)} />
    </tr>
  );
}

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

function ago(seconds: number): string {
  const [length, unit] =
    seconds < MINUTE ? [1, 's'] : seconds < HOUR ? [MINUTE, 'min'] : seconds < DAY ? [HOUR, 'h'] : [DAY, 'days'];
  return `${count(Math.floor(seconds / length))} ${unit} ago`;
}

const BYTES_PER_MB = 1_000_000;

function snapshotInWords({ last_snapshot: snapshot, last_entry: last }: Cluster) {
  if (last === null) return 'The number of the last change and the snapshots are known again when PostgreSQL is back.';
  if (!snapshot) return 'There is no snapshot yet; one is made by itself.';
  return (
    <>
      Last snapshot <Time at={snapshot.made_on} /> by {snapshot.node}, {count(snapshot.octets / BYTES_PER_MB)} MB, with
      change {count(snapshot.entry)} of {count(last)}. A new node begins with it.
    </>
  );
}
