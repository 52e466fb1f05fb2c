/** A chart of counts over time, and bars of shares: drawn as SVG, readable without colour. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { count } from './count.js';
import { once } from './once.js';

export interface Line {
  readonly label: string;
  /** `main`, `wait` or `bad`: the colours of the style sheet. */
  readonly tone: 'main' | 'wait' | 'bad';
  /** One value for each step. */
  readonly values: readonly number[];
}

interface ChartProps {
  readonly label: string;
  /** Beginnings of the steps, seconds since 1970. */
  readonly at: readonly number[];
  /** Values are shown by this many seconds each. */
  readonly stepSeconds: number;
  readonly lines: readonly Line[];
  /** Of what one value is the count: `a second`, unless it is said. */
  readonly unit?: string;
}

const NARROW = 520;
const HEIGHT = 190;
const LEFT = 44;
const BOTTOM = 24;
const TOP = 10;
/** More points than this are not told apart. */
const MOST_POINTS = 180;

const clock = once(() => new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' }));
const preciseClock = once(() => new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' }));
const calendar = once(() => new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' }));
/** Times that are further apart than this are told by their days. */
const LONG_SECONDS = 2 * 86_400;
/** Times that are nearer than this are told apart by seconds. */
const SHORT_SECONDS = 300;

/** Values per second, several steps in one point. */
function pointsOf(values: readonly number[], stepSeconds: number): number[] {
  const size = Math.ceil(values.length / MOST_POINTS);
  return Array.from({ length: Math.floor(values.length / size) }, (_, i) => {
    const part = values.slice(i * size, (i + 1) * size);
    return part.reduce((sum, value) => sum + value, 0) / (size * stepSeconds);
  });
}

/** The next of 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value)!;
}

/** The width of an element in pixels, so that texts in a drawing keep their size; undefined before the page is measured. */
function useWidth(element: { readonly current: HTMLElement | null }): number | undefined {
  const [width, setWidth] = useState<number>();
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(240, Math.round(entry!.contentRect.width))));
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return width;
}

export function Chart(props: ChartProps) {
  const figure = useRef<HTMLElement>(null);
  const width = useWidth(figure);
  return (
    <figure class="chart" ref={figure}>
      {width === undefined ? <div class="chart-place" /> : <Drawing {...props} width={width} />}
      <figcaption class="legend">
        {props.lines.map(({ label: name, tone }) => (
          <span key={name} class={`key key-${tone}`}>
            {name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

/** Points that are shown at least, however few have data. */
const LEAST_POINTS = 30;

/** From the first step with something in it on: what was before the server began says nothing. */
function fromFirst({ at, lines }: Pick<ChartProps, 'at' | 'lines'>): Pick<ChartProps, 'at' | 'lines'> {
  const found = at.findIndex((_, i) => lines.some(({ values }) => (values[i] ?? 0) > 0));
  const first = Math.max(0, Math.min(found, at.length - LEAST_POINTS));
  return { at: at.slice(first), lines: lines.map((line) => ({ ...line, values: line.values.slice(first) })) };
}

function Drawing({ label, stepSeconds, width, unit = 'a second', ...all }: ChartProps & { readonly width: number }) {
  const { at, lines } = fromFirst(all);
  const drawn = lines.map((line) => ({ ...line, points: pointsOf(line.values, stepSeconds) }));
  const most = Math.max(...drawn.flatMap(({ points }) => points), 0);
  const top = roundUp(most);
  const length = drawn[0]?.points.length ?? 0;
  const x = (i: number): number => LEFT + (i / Math.max(1, length - 1)) * (width - LEFT);
  const y = (value: number): number => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP);
  const path = (points: readonly number[]): string =>
    points.map((value, i) => `${i === 0 ? 'M' : 'L'}${x(i).toFixed(1)} ${y(value).toFixed(1)}`).join('');
  const spanned = (at.at(-1) ?? 0) - (at[0] ?? 0);
  const shownClock = spanned > LONG_SECONDS ? calendar() : spanned < SHORT_SECONDS ? preciseClock() : clock();
  const marks = width < NARROW ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1];
  return (
    <svg viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={`${label}: at most ${count(most)} ${unit}`}>
      {[0, 0.5, 1].map((share) => (
        <g key={share}>
          <line class="chart-grid" x1={LEFT} x2={width} y1={y(top * share)} y2={y(top * share)} />
          <text class="chart-text" x={LEFT - 8} y={y(top * share) + 4} text-anchor="end">
            {count(top * share)}
          </text>
        </g>
      ))}
      {marks.map((share) => {
        const time = at[Math.round(share * (at.length - 1))];
        const anchor = share === 0 ? 'start' : share === 1 ? 'end' : 'middle';
        return (
          <text key={share} class="chart-text" x={LEFT + share * (width - LEFT)} y={HEIGHT - 6} text-anchor={anchor}>
            {time === undefined ? '' : shownClock.format(time * 1000)}
          </text>
        );
      })}
      {drawn.toReversed().map(({ label: name, tone, points }) => (
        <g key={name} class={`chart-${tone}`}>
          {tone === 'main' && <path class="chart-area" d={`${path(points)}L${width} ${y(0)}L${LEFT} ${y(0)}Z`} />}
          {(tone === 'main' || points.some((value) => value > 0)) && <path class="chart-line" d={path(points)} />}
        </g>
      ))}
    </svg>
  );
}

interface SharesProps {
  readonly label: string;
  readonly items: readonly { readonly name: string; readonly value: number; readonly tone?: 'main' | 'wait' | 'bad' }[];
  /** What the values are parts of. */
  readonly total: number;
}

/** How a total divides; parts of nothing are left out. */
export function Shares({ label, items, total }: SharesProps) {
  const shown = items.filter(({ value }) => value > 0);
  if (shown.length === 0) return <p class="muted">Nothing was counted yet.</p>;
  return (
    <ul class="shares" aria-label={label}>
      {shown.map(({ name, value, tone = 'main' }) => {
        const share = total > 0 ? Math.min(1, value / total) : 0;
        return (
          <li key={name}>
            <span>{name}</span>
            <span class="number">{count(value)}</span>
            <span class="number muted">{count(share * 100)} %</span>
            <svg class={`bar-${tone}`} viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
              <rect class="bar-ground" width="100" height="4" rx="2" />
              <rect class="bar-share" width={Math.max(0.6, share * 100)} height="4" rx="2" />
            </svg>
          </li>
        );
      })}
    </ul>
  );
}
