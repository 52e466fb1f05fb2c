/** A button that sends no form. */
import type { ComponentChildren, JSX } from 'preact';

interface ButtonProps extends Omit<JSX.IntrinsicElements['button'], 'type' | 'children' | 'ref'> {
  readonly text: ComponentChildren;
}

export function Button({ text, ...rest }: ButtonProps) {
  return (
    <button {...rest} type="button">
      {text}
    </button>
  );
}
