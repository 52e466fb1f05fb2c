/** A dialog over the screen. The browser keeps the focus inside, and Escape closes it. */

import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Button } from '../kit/button.js';
import { PartContext, WithCurl } from './curl.js';

/** Opens a dialog over everything else, and gives the focus back when it goes. */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return dialog;
}

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useModal();
  const id = useId();
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        <Button class="quiet" aria-label="Close" onClick={onClose} text="✕" />
      </div>
      <PartContext.Provider value={title}>
        <WithCurl>{children}</WithCurl>
      </PartContext.Provider>
    </dialog>
  );
}
