/** Names with their values, and parts of a screen with a heading. */
import type { ComponentChildren } from 'preact';
import { PartContext } from './curl.js';

export interface Fact {
  readonly name: string;
  readonly value: ComponentChildren;
}

export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(({ name, value }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface PanelProps {
  readonly title: string;
  readonly children?: ComponentChildren;
  /** Stands beside the title. */
  readonly aside?: ComponentChildren;
}

export function Panel({ title, aside, children }: PanelProps) {
  return (
    <section class="panel" aria-label={title}>
      <div class="panel-head">
        <h2>{title}</h2>
        {aside}
      </div>
      <PartContext.Provider value={title}>{children}</PartContext.Provider>
    </section>
  );
}
