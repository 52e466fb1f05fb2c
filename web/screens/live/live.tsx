/** Questions as they come, the names asked for most, and those that take long. */

import { useEffect, useState } from 'preact/hooks';
import { ApiError, call, pathWith } from '../../api.js';
import { Button } from '../../kit/button.js';
import { useLoad } from '../../load.js';
import { count } from '../../parts/count.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { Empty, ErrorNote } from '../../parts/notes.js';
import { Search } from '../../parts/search.js';
import { RowHead, TableFrame } from '../../parts/table.js';
import { shownName } from '../../parts/zone.js';
import { go, Link, usePlace, withQuery } from '../../router.js';
import type { ZoneScreenProps } from '../../screen.js';
import type { Activity, SampledQuery } from '../../types.js';

const MOST_SHOWN = 200;
const WAIT_SECONDS = 20;
const LEAST_WAIT_MS = 1000;
const PAUSE_AFTER_ERROR_MS = 3000;
const RCODES = ['NOERROR', 'NXDOMAIN', 'SERVFAIL', 'REFUSED'] as const;

/** Inside a zone its questions only. */
export default function Live({ zone }: Partial<ZoneScreenProps>) {
  const { query } = usePlace();
  const base = zone ? `/zones/${zone.id}/activity` : '/activity';
  const filter = {
    name: query.get('search') ?? undefined,
    type: query.get('type') ?? undefined,
    rcode: query.get('rcode') ?? undefined,
  };
  const tail = useTail(`${base}/queries`, filter);
  return (
    <>
      {!zone && (
        <div class="head">
          <h1>Live</h1>
        </div>
      )}
      <div class="tools">
        <Search name="search" label="Only names that contain" placeholder="Only names that contain" />
        <label class="choice">
          <span>Answer</span>
          <select
            value={filter.rcode ?? ''}
            onChange={(event) => go(withQuery({ rcode: event.currentTarget.value }), { replace: true })}
          >
            <option value="">All</option>
            {RCODES.map((rcode) => (
              <option key={rcode} value={rcode}>
                {rcode}
              </option>
            ))}
          </select>
        </label>
        <Button aria-pressed={tail.paused} onClick={tail.toggle} text={tail.paused ? 'Continue' : 'Pause'} />
        <span class={`chip ${tail.paused ? 'wait' : 'good'}`} role="status">
          {tail.paused ? 'Paused' : 'Listening'}
        </span>
      </div>
      {tail.error && <ErrorNote error={tail.error} />}
      <div class="tail">
        <Queries queries={tail.queries} showZone={!zone} />
      </div>
      <Tops base={base} isAsked={tail.queries.length > 0} />
      <Curl request={{ method: 'GET', path: pathWith(`${base}/queries`, { ...filter, timeout: WAIT_SECONDS }) }} />
    </>
  );
}

interface Filter {
  readonly name: string | undefined;
  readonly type: string | undefined;
  readonly rcode: string | undefined;
}

/** The newest samples first; asks again as soon as an answer came. */
function useTail(path: string, { name, type, rcode }: Filter) {
  const [queries, setQueries] = useState<readonly SampledQuery[]>([]);
  const [paused, setPaused] = useState(false);
  const [error, setError] = useState<ApiError>();
  useEffect(() => setQueries([]), [path, name, type, rcode]);
  useEffect(() => {
    if (paused) return;
    const ended = new AbortController();
    const listen = async (): Promise<void> => {
      let after: string | undefined;
      while (!ended.signal.aborted) {
        try {
          await whenVisible(ended.signal);
          if (ended.signal.aborted) return;
          const timeout = after === undefined ? 0 : WAIT_SECONDS;
          const asked = { name, type, rcode, after, timeout };
          const beganMs = performance.now();
          const { result } = await call<SampledQuery[]>('GET', pathWith(path, asked), { signal: ended.signal });
          setError(undefined);
          after = result.at(-1)?.number ?? after ?? '1';
          if (result.length > 0) {
            setQueries((before) =>
              [...result.toReversed(), ...before.filter(({ number }) => number < result[0]!.number)].slice(
                0,
                MOST_SHOWN,
              ),
            );
          }
          // The server lets no more wait.
          if (result.length === 0 && timeout > 0 && performance.now() - beganMs < LEAST_WAIT_MS) {
            await pause(ended.signal, LEAST_WAIT_MS);
          }
        } catch (caught) {
          if (ended.signal.aborted) return;
          setError(caught instanceof ApiError ? caught : new ApiError(0, [{ code: 0, message: String(caught) }]));
          await pause(ended.signal, PAUSE_AFTER_ERROR_MS);
        }
      }
    };
    void listen();
    return () => ended.abort();
  }, [path, name, type, rcode, paused]);
  return { queries, error, paused, toggle: () => setPaused((before) => !before) };
}

/** Nobody looks at a page behind others. */
function whenVisible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (document.visibilityState !== 'visible' && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look);
    look();
  });
}

function pause(signal: AbortSignal, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });

function Queries({ queries, showZone }: { readonly queries: readonly SampledQuery[]; readonly showZone: boolean }) {
  if (queries.length === 0) {
    return (
      <Empty title="No questions yet">
        <p>
          Questions appear here within a second of being asked: for example with <code>dig</code>, at the address and
          port of DNS that the program prints when it starts.
        </p>
      </Empty>
    );
  }
  return (
    <TableFrame label="Newest questions">
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Name</th>
          <th scope="col">Type</th>
          <th scope="col">Answer</th>
          {showZone && <th scope="col">Zone</th>}
          <th scope="col">Client</th>
          <th scope="col">Over</th>
          <th scope="col">Took</th>
        </tr>
      </thead>
      <tbody class="dense">
        {queries.map((query) => (
          <tr key={query.number}>
            <td class="muted">
              <time dateTime={query.at} title={query.at}>
                {clock.format(new Date(query.at))}
              </time>
            </td>
            <RowHead class="mono" value={shownName(query) || '.'} />
            <td>{query.type}</td>
            <td>
              <span class={`chip ${toneOf(query.rcode)}`}>{query.rcode || 'none'}</span>
            </td>
            {showZone && (
              <td>{query.zone_id ? <Link href={`/zones/${query.zone_id}`}>{query.zone}</Link> : query.zone}</td>
            )}
            <td class="mono muted">{query.client}</td>
            <td class="muted">{query.protocol.toUpperCase()}</td>
            <td class="number muted">{count(query.micros)} µs</td>
          </tr>
        ))}
      </tbody>
    </TableFrame>
  );
}

function toneOf(rcode: string): 'good' | 'wait' | 'bad' {
  if (rcode === 'NOERROR') return 'good';
  return rcode === 'NXDOMAIN' ? 'wait' : 'bad';
}

/** Samples are counted so long after they are shown, milliseconds. */
const COUNTED_MS = 1500;

function Tops({ base, isAsked }: { readonly base: string; readonly isAsked: boolean }) {
  const { answer, reload } = useLoad<Activity>(base, { everyMs: 10_000 });
  // The first questions are not said to be none until the next turn.
  useEffect(() => {
    const timer = isAsked ? setTimeout(reload, COUNTED_MS) : undefined;
    return () => clearTimeout(timer);
  }, [isAsked]);
  if (!answer) return null;
  const { names, slow } = answer.result;
  return (
    <div class="columns">
      <Panel title="Asked for most">
        <NameList names={names} value={({ queries }) => `about ${count(queries)}`} />
      </Panel>
      <Panel title="Slow to answer">
        <NameList names={slow} value={({ average_micros: average }) => `${count(average)} µs`} />
      </Panel>
    </div>
  );
}

interface NameListProps {
  readonly names: Activity['names'];
  readonly value: (name: Activity['names'][number]) => string;
}

function NameList({ names, value }: NameListProps) {
  if (names.length === 0) return <p class="muted">No query was sampled in the last ten minutes.</p>;
  return (
    <ul class="plain-list">
      {names.slice(0, 10).map((name) => (
        <li key={`${name.name} ${name.type}`}>
          <span class="mono">
            {name.name} <span class="muted">{name.type}</span>
          </span>
          <span class="number">{value(name)}</span>
        </li>
      ))}
    </ul>
  );
}
