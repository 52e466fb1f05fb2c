/** A choice of several items, each with a checkbox. */
import type { ComponentChildren } from 'preact';

export interface Named {
  readonly id: string;
  readonly name: string;
}

interface ChecksProps<Item extends Named> {
  readonly legend: string;
  readonly items: readonly Item[];
  readonly chosen: readonly Named[];
  readonly onChange: (chosen: readonly Named[]) => void;
  /** Shown beside the name. */
  readonly hintOf?: (item: Item) => ComponentChildren;
}

export function Checks<Item extends Named>({ legend, items, chosen, onChange, hintOf }: ChecksProps<Item>) {
  const isChosen = (item: Named): boolean => chosen.some(({ id }) => id === item.id);
  const toggle = ({ id, name }: Named): void =>
    onChange(isChosen({ id, name }) ? chosen.filter((one) => one.id !== id) : [...chosen, { id, name }]);
  return (
    <fieldset class="checks">
      <legend>{legend}</legend>
      {items.map((item) => (
        <label class="check" key={item.id}>
          <input type="checkbox" checked={isChosen(item)} onChange={() => toggle(item)} />
          <span>
            <bdi>{item.name}</bdi> {hintOf && <span class="hint">{hintOf(item)}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}
