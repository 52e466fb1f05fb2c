/** What the zone was asked over a day, a week or a month: over time, by response code and type, and which names and networks asked. */

import { useMemo } from 'preact/hooks';
import { pathWith } from '../../api.js';
import { useLoad } from '../../load.js';
import { Chart, Shares } from '../../parts/chart.js';
import { Curl } from '../../parts/curl.js';
import { Panel } from '../../parts/facts.js';
import { Empty, ErrorNote, Loading } from '../../parts/notes.js';
import { go, usePlace, withQuery } from '../../router.js';
import type { ZoneScreenProps } from '../../screen.js';
import type { DnsReport, DnsReportByTime } from '../../types.js';

const HOUR = 3600;
const DAY = 86_400;
const PERIODS = { '24h': 'Last day', '7d': 'Last week', '30d': 'Last 30 days' } as const;
type Period = keyof typeof PERIODS;

/** The steps of each period, with the one that has begun. */
const STEPS: Readonly<Record<Period, readonly [seconds: number, count: number]>> = {
  '24h': [HOUR, 24],
  '7d': [DAY, 7],
  '30d': [DAY, 30],
};

const MOST_LISTED = 20;
const REFRESH_MS = 60_000;

export default function Statistics({ zone }: ZoneScreenProps) {
  const asked = usePlace().query.get('period');
  const period: Period = asked === '7d' || asked === '30d' ? asked : '24h';
  const [seconds, steps] = STEPS[period];
  const since = useMemo(() => beginning(seconds, steps), [seconds, steps]);
  const path = `/zones/${zone.id}/dns_analytics/report`;
  const time = { dimensions: 'responseCode', since, time_delta: seconds === HOUR ? 'hour' : 'day' };
  const { answer, error } = useLoad<DnsReportByTime>(pathWith(`${path}/bytime`, time), { everyMs: REFRESH_MS });
  return (
    <>
      <div class="tools">
        <label class="choice">
          <span>Period</span>
          <select
            value={period}
            onChange={(event) => go(withQuery({ period: event.currentTarget.value }), { replace: true })}
          >
            {Object.entries(PERIODS).map(([value, title]) => (
              <option key={value} value={value}>
                {title}
              </option>
            ))}
          </select>
        </label>
      </div>
      {error && <ErrorNote error={error} />}
      {!answer && !error && <Loading what="statistics" />}
      {answer && <Counts report={answer.result} seconds={seconds} path={path} since={since} />}
      <Curl request={{ method: 'GET', path: pathWith(`${path}/bytime`, time) }} />
    </>
  );
}

interface CountsProps {
  readonly report: DnsReportByTime;
  readonly seconds: number;
  readonly path: string;
  readonly since: string;
}

function Counts({ report, seconds, path, since }: CountsProps) {
  const total = report.totals['queryCount'] ?? 0;
  if (total === 0) {
    return (
      <Empty title="Nothing was counted in this time">
        <p>Answers are counted a few seconds after they were given. Days and hours are those of UTC.</p>
      </Empty>
    );
  }
  const codes = new Map(report.data.map(({ dimensions, metrics }) => [dimensions[0]!, metrics[0]!]));
  const added = (wanted: (code: string) => boolean): number[] =>
    report.time_intervals.map((_, i) =>
      [...codes].reduce((sum, [code, counts]) => sum + (wanted(code) ? counts[i]! : 0), 0),
    );
  const step = seconds === HOUR ? 'an hour' : 'a day';
  return (
    <>
      <Panel title={`Answers ${step}`}>
        <Chart
          label="Answers"
          unit={step}
          at={report.time_intervals.map(([begin]) => Date.parse(begin!) / 1000)}
          stepSeconds={1}
          lines={[
            { label: 'All', tone: 'main', values: added(() => true) },
            { label: 'NXDOMAIN', tone: 'wait', values: added((code) => code === 'NXDOMAIN') },
            { label: 'SERVFAIL, REFUSED', tone: 'bad', values: added((code) => /^(SERVFAIL|REFUSED)$/.test(code)) },
          ]}
        />
      </Panel>
      <div class="columns">
        <Panel title="Response codes">
          <Shares
            label="Response codes"
            total={total}
            items={[...codes].map(([code, counts]) => ({
              name: code || 'Not counted separately',
              value: counts.reduce((sum, count) => sum + count, 0),
              tone: toneOf(code),
            }))}
          />
        </Panel>
        <Top title="Types" dimension="queryType" rest="Other types" path={path} since={since} />
        <Top title="Names" dimension="queryName" rest="Names that do not exist, and others" path={path} since={since} />
        <Top title="Networks of clients" dimension="sourceNetwork" rest="Other networks" path={path} since={since} />
        <Top title="Transports" dimension="protocol" rest="Not counted separately" path={path} since={since} />
      </div>
    </>
  );
}

interface TopProps {
  readonly title: string;
  readonly dimension: string;
  /** What the empty value means. */
  readonly rest: string;
  readonly path: string;
  readonly since: string;
}

function Top({ title, dimension, rest, path, since }: TopProps) {
  const asked = pathWith(path, { dimensions: dimension, since, limit: MOST_LISTED });
  const { answer, error } = useLoad<DnsReport>(asked, { everyMs: REFRESH_MS });
  return (
    <Panel title={title}>
      {error && <ErrorNote error={error} />}
      {!answer && !error && <Loading what="statistics" />}
      {answer && (
        <Shares
          label={title}
          total={answer.result.totals['queryCount'] ?? 0}
          items={answer.result.data.map(({ dimensions, metrics }) => ({
            name: dimensions[0] || rest,
            value: metrics[0]!,
          }))}
        />
      )}
      <Curl request={{ method: 'GET', path: asked }} />
    </Panel>
  );
}

function toneOf(code: string): 'main' | 'wait' | 'bad' {
  if (code === 'NXDOMAIN') return 'wait';
  return code === 'SERVFAIL' || code === 'REFUSED' ? 'bad' : 'main';
}

/** The beginning of the first step, in UTC. */
function beginning(seconds: number, steps: number): string {
  const now = Math.floor(Date.now() / 1000 / seconds) * seconds;
  return new Date((now - (steps - 1) * seconds) * 1000).toISOString();
}
