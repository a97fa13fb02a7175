// Checks a proof in the browser with the key that the auditor has pasted: the module proof.js does the checks, and this script reads
// what the page has and shows the result. It never takes a key from the server.
"use strict";
(async () => {
  const prover = document.getElementById("prover");
  const find = (selector, root = document) => root.querySelector(selector);
  const texts = find("#texts").content;
  const proof = await import(prover.dataset.module);
  const key = find("#key"), remember = find("#remember"), result = find("#result");
  const organization = prover.dataset.organization;

  if (!(await proof.canCheck())) {
    find("[data-when=unsupported]").hidden = false;
    return;
  }

  // The key is kept in this browser only if the auditor wants that.
  const place = "mizan verifier key " + organization;
  key.value = localStorage.getItem(place) ?? "";
  remember.checked = key.value !== "";
  const keep = () => (remember.checked ? localStorage.setItem(place, key.value.trim()) : localStorage.removeItem(place));
  remember.addEventListener("change", keep);
  key.addEventListener("change", keep);

  // sent returns what the server has sent, from the page or from a page like it.
  const sent = (name, page = document) => {
    const data = {};
    for (const cell of page.querySelectorAll(`[data-sent^="${name}."]`)) {
      const field = cell.dataset.sent.slice(name.length + 1);
      if (field === "proof") (data.proof ??= []).push(cell.textContent);
      else data[field] = cell.textContent;
    }
    if (Object.keys(data).length === 0) return null;
    if (name !== "head") data.proof ??= []; // of a journal with one event
    return data;
  };

  const copyOf = name => find(`[data-text=${name}]`, texts).cloneNode(true);
  const valuesOf = values => Object.entries(values).map(([name, value]) => `${name} = ${value}`).join(", ");
  // refusal shows why something is not proven.
  const refusal = fault => {
    if (!(fault instanceof proof.Refusal)) throw fault;
    const note = copyOf("refused");
    const values = valuesOf(fault.values);
    note.dataset.refused = fault.code;
    find("span", note).textContent = find(`[data-code=${fault.code}]`, texts).textContent + (values && ` (${values})`);
    return note;
  };

  // The steps of a check, each with the beginnings of the codes that its refusals have.
  const steps = [["key_", "browser"], ["head_"], ["leaf_", "proof_"], ["entry_"], ["shown_"]];
  const mark = failed => [...document.querySelectorAll("#steps li")].forEach((step, i) => {
    step.className = failed < 0 || i < failed ? "done" : i === failed ? "failed" : "";
  });

  // shown returns the event as the page shows it. Its postings come from the rows of the table.
  const shown = () => {
    const event = {};
    for (const cell of document.querySelectorAll("#shown [data-shown]")) {
      const names = cell.dataset.shown.split("."), last = names.pop();
      names.reduce((object, name) => (object[name] ??= {}), event)[last] = cell.dataset.value;
    }
    const postings = [...document.querySelectorAll("tr[data-posting]")].map(row => {
      const { account, side, amount, currency, network, env } = row.dataset;
      return { account, side, amount, currency, network, env };
    });
    if (event.entry || postings.length > 0) (event.entry ??= {}).postings = postings;
    event.entry ??= null;
    return event;
  };

  const kindOf = letter => find(`[data-kind="${CSS.escape(letter)}"]`, texts)?.textContent ?? letter;
  // show writes the event that the bytes contain.
  const show = ({ event, head }) => {
    for (const cell of document.querySelectorAll("[data-proven]")) {
      const value = cell.dataset.proven.split(".").reduce((object, name) => object?.[name], { ...event, head });
      cell.closest("div").hidden = value === undefined || value === "";
      cell.textContent = proof.printable(cell.dataset.proven === "kind" ? kindOf(event.kind) : String(value ?? ""));
    }
    const table = find("#proven-postings"), rows = find("tbody", table);
    table.hidden = !event.entry;
    rows.replaceChildren(...(event.entry?.postings ?? []).map(p => {
      const row = document.createElement("tr");
      const cells = [p.account, p.side === "debit" ? p.amount : "", p.side === "credit" ? p.amount : "", [p.currency, p.network, p.env].filter(Boolean).join(" ")];
      cells.forEach((text, i) => {
        const cell = document.createElement(i === 0 ? "th" : "td");
        if (i === 0) cell.scope = "row";
        if (i === 1 || i === 2) cell.className = "number";
        cell.dir = "ltr";
        cell.textContent = proof.printable(text);
        row.append(cell);
      });
      return row;
    }));
    find("#proven").hidden = false;
  };

  // showDifferences lists the fields that the page shows otherwise than they are proven.
  const showDifferences = list => {
    const note = copyOf("refused"), table = find("table", texts).cloneNode(true);
    note.dataset.refused = "shown_differs";
    find("span", note).textContent = find("caption", table).textContent;
    find("tbody", table).replaceChildren(...list.map(({ field, proven, shown }) => {
      const row = document.createElement("tr");
      row.append(...[field, proven, shown].map(text => {
        const cell = document.createElement("td");
        cell.textContent = proof.printable(text);
        return cell;
      }));
      return row;
    }));
    result.replaceChildren(note, table);
  };

  let proven;
  const check = async () => {
    find("#steps").hidden = false;
    find("#proven").hidden = true;
    result.replaceChildren();
    try {
      proven = await proof.proveEvent(await proof.parseKey(key.value.trim()), sent("head"), sent("inclusion"), organization);
    } catch (fault) {
      const note = refusal(fault);
      mark(steps.findIndex(codes => codes.some(code => fault.code.startsWith(code))));
      result.replaceChildren(note);
      return;
    }
    show(proven);
    const list = proof.differences(proven.event, shown());
    mark(list.length > 0 ? steps.length - 1 : -1);
    if (list.length > 0) showDifferences(list);
    else result.replaceChildren(copyOf("proven"));
  };
  const button = find("#check");
  if (button) {
    button.hidden = false;
    button.addEventListener("click", check);
    find("#file").addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([proof.proofFile(proven)], { type: "application/json" }));
      link.download = `event-${proven.event.seq}.proof`;
      link.click();
      URL.revokeObjectURL(link.href);
    });
  }

  // An older head says how many events it has; the same page then has the proof for that number.
  const checkOlder = async () => {
    const olderResult = find("#older-result");
    olderResult.replaceChildren();
    try {
      const verifier = await proof.parseKey(key.value.trim());
      const older = await proof.openHead(proof.pastedHead(find("#older").value), verifier, "older");
      const response = await fetch(`${location.pathname}?from=${older.size}`, { headers: { accept: "text/html" } });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const { newer } = await proof.proveExtension(verifier, older, sent("head", page) ?? sent("head"), sent("extension", page), organization);
      const note = copyOf("extended");
      note.append(` (${older.size} → ${newer.size})`);
      olderResult.replaceChildren(note);
    } catch (fault) {
      olderResult.replaceChildren(refusal(fault));
    }
  };
  const olderButton = find("#check-older");
  if (olderButton) {
    olderButton.hidden = false;
    olderButton.addEventListener("click", checkOlder);
  }
})();
