/** The first look: what is asked, whether it is answered well, and what needs somebody. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { pathWith } from '../../api.js';
import { readAhead, useLoad } from '../../load.js';
import { ACCOUNTS, AccountChoice, useAccount } from '../../parts/account.js';
import { Chart, Shares } from '../../parts/chart.js';
import { count } from '../../parts/count.js';
import { Curl } from '../../parts/curl.js';
import { Deed, sentence } from '../../parts/deed.js';
import { Panel } from '../../parts/facts.js';
import { Empty, ErrorNote, Loading, WithFlags } from '../../parts/notes.js';
import { Time } from '../../parts/time.js';
import { Who } from '../../parts/who.js';
import { shownName } from '../../parts/zone.js';
import { Link } from '../../router.js';
import { mayRead, usePermissions } from '../../session.js';
import type { Activity, AuditLog, Cluster, Overview as OverviewAnswer, Zone } from '../../types.js';
import { Nodes, useCluster } from './nodes.js';

const REFRESH_MS = 10_000;
const PERIODS = [
  ['15m', '15 minutes'],
  ['24h', '24 hours'],
] as const;

type Period = (typeof PERIODS)[number][0];

const activityPath = (period: Period): string => pathWith('/activity', { period });
const NEEDS = '/overview';

export function readFirst(): void {
  readAhead(activityPath('15m'));
  readAhead(ACCOUNTS);
  readAhead(NEEDS);
}

export default function Overview() {
  const [period, setPeriod] = useState<Period>('15m');
  const path = activityPath(period);
  const { answer, error, reload } = useLoad<Activity>(path, { everyMs: REFRESH_MS });
  const { accounts, account } = useAccount();
  const permissions = usePermissions();
  const cluster = useCluster(permissions.administrator);
  const begins = useBegins(answer?.result);
  return (
    <>
      <div class="head">
        <h1>Overview</h1>
        <div class="actions">
          <AccountChoice accounts={accounts} account={account} />
          <fieldset class="segments">
            <legend class="hidden">Period</legend>
            {PERIODS.map(([name, text]) => (
              <label key={name}>
                <input type="radio" name="period" checked={period === name} onChange={() => setPeriod(name)} />
                <span>{text}</span>
              </label>
            ))}
          </fieldset>
        </div>
      </div>
      {error && <ErrorNote error={error} onRetry={reload} />}
      {begins && <Begin />}
      {answer ? <Questions activity={answer.result} /> : !error && <Loading what="the overview" />}
      <Nodes answer={cluster.answer} error={cluster.error} />
      <div class="columns">
        <Attention nodes={statesOf(cluster.answer?.result)} />
        {account && mayRead(permissions, 'account') && <LastChanges account={account.id} />}
      </div>
      <Curl request={{ method: 'GET', path }} />
    </>
  );
}

function Questions({ activity }: { readonly activity: Activity }) {
  const { totals, series, latency_micros: latency, step_seconds: stepSeconds, scope, period } = activity;
  const lastMinute = series.queries.slice(-Math.max(1, 60 / stepSeconds)).reduce((sum, value) => sum + value, 0);
  const { rcodes } = totals;
  const failed = (rcodes['servfail'] ?? 0) + (rcodes['refused'] ?? 0);
  const share = (value: number): string => (totals.queries === 0 ? '–' : `${count((value / totals.queries) * 100)} %`);
  return (
    <>
      <div class="figures">
        <Figure name="Queries per second" value={count(lastMinute / 60)} detail="in the last minute" />
        <Figure
          name="Questions"
          value={count(totals.queries)}
          detail={`${scope === 'server' ? 'to this server' : 'for your zones'} in ${PERIODS.find(([name]) => name === period)![1]}`}
        />
        <Figure name="Names that do not exist" value={share(rcodes['nxdomain'] ?? 0)} detail="of the answers" />
        <Figure
          name="Failed or refused"
          value={share(failed)}
          detail="of the answers"
          bad={failed > totals.queries / 20}
        />
        <Figure
          name="Time for an answer"
          value={micros(latency.p50)}
          detail={latency.p99 === null ? 'no question yet' : `99 % within ${micros(latency.p99)}`}
        />
      </div>
      <Panel title="Queries per second">
        <Chart
          label="Queries per second"
          at={series.at}
          stepSeconds={stepSeconds}
          lines={[
            { label: 'All questions', tone: 'main', values: series.queries },
            { label: 'Names that do not exist', tone: 'wait', values: series.nxdomain },
            { label: 'Failed or refused', tone: 'bad', values: series.failed },
          ]}
        />
      </Panel>
      <div class="columns">
        <Panel title="Answers">
          <Shares
            label="Answers by response code"
            total={totals.queries}
            items={[
              { name: 'Answered', value: rcodes['noerror'] ?? 0 },
              { name: 'Name does not exist', value: rcodes['nxdomain'] ?? 0, tone: 'wait' },
              { name: 'Refused: not our zone', value: rcodes['refused'] ?? 0, tone: 'bad' },
              { name: 'Failed (SERVFAIL)', value: rcodes['servfail'] ?? 0, tone: 'bad' },
              { name: 'Other codes', value: rcodes['other'] ?? 0, tone: 'wait' },
              { name: 'Not answered', value: totals.unanswered, tone: 'bad' },
            ]}
          />
        </Panel>
        <Panel title="Where answers come from">
          <Sources activity={activity} />
        </Panel>
        <Panel title="Busiest zones">
          <BusyZones zones={activity.zones} total={totals.queries} />
        </Panel>
      </div>
    </>
  );
}

/** Whether there is no zone yet, and this credential may create one. */
function useBegins(activity: Activity | undefined): boolean {
  const isQuiet = activity?.zones.length === 0;
  const { answer } = useLoad<Zone[]>(isQuiet ? '/zones?per_page=5' : undefined);
  const permissions = usePermissions();
  const creates = permissions.creates_zones;
  return isQuiet && answer?.info?.total_count === 0 && creates;
}

/** Where there is no zone, there is nothing to look at yet. */
function Begin() {
  return (
    <div class="begin">
      <Empty title="Begin with a zone">
        <p>
          A zone is a domain whose records this server answers. There is none yet: create one by its name, or from a
          zone file.
        </p>
        <Link class="button primary" href="/zones?new=1">
          Create the first zone
        </Link>
      </Empty>
    </div>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: string;
  readonly detail: string;
  readonly bad?: boolean;
}

function Figure({ name, value, detail, bad = false }: FigureProps) {
  return (
    <div class={bad ? 'figure figure-bad' : 'figure'}>
      <span class="figure-name">{name}</span>
      <strong>{value}</strong>
      <span class="muted">{detail}</span>
    </div>
  );
}

/** Microseconds as people read them. */
export function micros(value: number | null): string {
  if (value === null) return '–';
  return value < 1000 ? `${value} µs` : `${count(value / 1000)} ms`;
}

function Sources({ activity }: { readonly activity: Activity }) {
  const { sources } = activity.totals;
  const answers = ['plain', 'flattened', 'proxied', 'https'].reduce((sum, name) => sum + (sources[name] ?? 0), 0);
  return (
    <Shares
      label="Answers by where they come from"
      total={answers}
      items={[
        { name: 'Records as written', value: sources['plain'] ?? 0 },
        { name: 'Proxied: the edge', value: sources['proxied'] ?? 0 },
        { name: 'Flattened CNAMEs', value: sources['flattened'] ?? 0 },
        { name: 'HTTPS records made here', value: sources['https'] ?? 0 },
        { name: 'With signatures', value: sources['signed'] ?? 0 },
      ]}
    />
  );
}

function BusyZones({ zones, total }: { readonly zones: Activity['zones']; readonly total: number }) {
  const asked = zones.filter(({ queries }) => queries > 0).slice(0, 8);
  if (asked.length === 0) return <p class="muted">No zone was queried in this period.</p>;
  return (
    <ul class="plain-list">
      {asked.map(({ id, name, queries }) => (
        <li key={id}>
          <Link href={`/zones/${id}`}>{shownName({ name })}</Link>
          <span class="number">{count(queries)}</span>
          <span class="number muted">{count((queries / Math.max(1, total)) * 100)} %</span>
        </li>
      ))}
    </ul>
  );
}

/** Changes when a node comes or goes. */
function statesOf(cluster: Cluster | undefined): string | undefined {
  return cluster && [cluster.state, ...cluster.nodes.map(({ name, state }) => `${name} ${state}`)].join();
}

interface AttentionProps {
  /** What needs somebody is read again when it changes. */
  readonly nodes: string | undefined;
}

function Attention({ nodes }: AttentionProps) {
  const { answer, reload } = useLoad<OverviewAnswer>(NEEDS, { everyMs: 60_000, told: true });
  const before = useRef(nodes);
  useEffect(() => {
    if (before.current !== undefined && before.current !== nodes) reload();
    before.current = nodes;
  }, [nodes]);
  if (!answer) return null;
  const { notices, ends } = answer.result;
  return (
    <Panel title="What needs you">
      {notices.length === 0 && <p class="good-line">No warnings.</p>}
      <ul class="notices">
        {notices.map(({ code, severity, text, remedy, zone_id: zone }) => (
          <li key={code + text}>
            {severity === 'error' && <span class="chip bad">Error</span>}{' '}
            <strong>{sentence(text).replace(/\.+$/, '')}.</strong>{' '}
            <span class="muted">
              <WithFlags text={remedy} />
            </span>{' '}
            {zone !== null && <Link href={`/zones/${zone}`}>Open the zone</Link>}
          </li>
        ))}
      </ul>
      {ends.length > 0 && <h3>What ends next</h3>}
      <ul class="plain-list">
        {ends.map(({ kind, name, at }) => (
          <li key={kind + name}>
            <span>
              {kind === 'certificate' ? 'Certificate of' : 'Signatures of'} {shownName({ name })}
            </span>
            <Time at={at} />
          </li>
        ))}
      </ul>
      {ends.length > 0 && <p class="hint">Certificates and signatures are renewed before they end.</p>}
    </Panel>
  );
}

function LastChanges({ account }: { readonly account: string }) {
  const { answer } = useLoad<AuditLog[]>(`/accounts/${account}/audit_logs?per_page=8`, { told: true });
  if (!answer) return null;
  return (
    <Panel title="Last changes" aside={<Link href="/access/log">Show all</Link>}>
      {answer.result.length === 0 && <Empty title="Nothing was changed yet" />}
      <ul class="plain-list">
        {answer.result.map((entry) => (
          <li key={entry.id}>
            <span>
              <Deed entry={entry} />
            </span>
            <span class="muted">
              <Who email={entry.actor.email} credential={entry.metadata.credential_name} />, <Time at={entry.when} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
