/** Name servers that an account knows, to choose some. */
import type { Peer } from '../types.js';

interface PeerChoiceProps {
  readonly peers: readonly Peer[];
  readonly legend: string;
  /** Identifiers. */
  readonly chosen: readonly string[];
  readonly onChange: (chosen: readonly string[]) => void;
}

export function PeerChoice({ peers, legend, chosen, onChange }: PeerChoiceProps) {
  const toggle = (id: string): void =>
    onChange(chosen.includes(id) ? chosen.filter((other) => other !== id) : [...chosen, id]);
  return (
    <fieldset class="checks">
      <legend>{legend}</legend>
      {peers.map(({ id, name, ip, port }) => (
        <label class="check" key={id}>
          <input type="checkbox" checked={chosen.includes(id)} onChange={() => toggle(id)} />
          <span>
            {name} <span class="muted mono">{`${ip} port ${port}`}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
