// A table of texts and links, however many: one element for the server, plain nodes for the browser. A cell is a text, or
// [text, address, class, title]. Texts become text nodes; an address that is none of this site's is left out.
export default {
  props: { columns: Array, rows: Array, label: String, kind: String, head: Boolean, lead: Boolean },
  methods: {
    cell(cell, place) {
      const [text, href, kind, title] = Array.isArray(cell) ? cell : [cell];
      const inside = href && /^([?#]|\/(?![\/\\]))/.test(href) ? Vue.h("a", { href }, text) : text;
      const props = { class: kind || undefined, title: title || undefined };
      return this.lead && place === 0 ? Vue.h("th", { ...props, scope: "row" }, inside) : Vue.h("td", props, inside);
    },
  },
  render() {
    const names = this.columns.map((name) => Vue.h("th", { scope: "col" }, name));
    const head = this.head ? [Vue.h("thead", [Vue.h("tr", names)])] : [];
    const body = this.rows.map((row) => Vue.h("tr", row.map(this.cell)));
    return Vue.h("div", { class: "scroll " + (this.kind === "sheet-table" ? "sheet-frame" : ""), tabindex: 0, role: "region", "aria-label": this.label }, [
      Vue.h("table", { class: this.kind }, [...head, Vue.h("tbody", body)]),
    ]);
  },
};
